"""English verbs, adverbs and adjectives of opinion, which no keyword holds where they are small.

A tagger would know more of them and take longer to load than a note takes to be read. Words that
are nouns as often (`plan`, `test`, `watch`) are left out.
"""

from __future__ import annotations

_VERBS = """
    achieve acquire adapt admit adore advise afford agree allow annoy apologise apologize appear
    apply argue arrange arrive assume avoid become begin behave believe belong borrow bother bring
    buy carry choose collect combine complain confirm confuse consider contain continue convince
    create decide decline deny depend describe deserve destroy detect develop differ disappear
    discover discuss divide earn eat embarrass employ enable encourage enjoy ensure enter escape
    exist expect explain extend fail fetch find forget forgive gather get give grumble happen hear
    hesitate identify ignore imagine improve include inform insist install intend introduce invent
    invite involve join keep know learn lend let listen live lose make manage mean mention notice
    obey obtain occur participate perform persuade pour prefer prepare pretend prevent prove
    provide realise realize receive recognise recognize recommend reduce refer refuse relax rely
    remain remember remind remove replace reply require respond retain reveal save say see seek
    seem select sell send separate settle shout shrug sit solve speak spend spoil stare stay
    succeed suffer suggest suppose survive swallow swap swear take teach tell tend think throw try
    understand vanish violate wait want warn wear whisper wipe wonder worry write
    """
_IRREGULAR = """
    ate beaten became been began begun bent bit bitten blew blown bought broke broken brought built
    burnt came caught chose chosen cried crept dealt died does done drank drawn dreamt drew driven
    drove drunk dug eaten fallen fed fell felt fled flew flown forgave forgot forgotten fought found
    froze gave given gone got gotten grew grown had heard held hid hidden hung kept knew known laid
    leapt learnt led lent lies lit lost made meant met mistook paid ran rang rode rung said sang sat
    saw seen sent shook shown shrank slept slid snuck sold sought spent spoke spoken spoilt sprang
    spun stole stolen stood struck stuck stung sung sunk swam swore swum taken taught thought threw
    thrown told took tore torn understood went woke woken won wore worn wound wrote written
    """
_OTHERS = """
    afterwards ahead alike aloud anyhow anyway anywhere apart beside besides direct elsewhere
    enormous everyone's few fewer mostly nothing per plus thereabouts twice unless who'd who's
    could've should've would've
    aside asleep awake awful badly barely basically bored boring brilliant carefully certain
    certainly clever clearly completely constantly curious cute dear definitely dull eager
    easy elsewhere entire entirely especially everywhere exactly excellent fabulous false
    familiar famous fancy fantastic fine finally forever forth fortunate frankly fully
    funny generally gently glad gorgeous grand happy hardly hence honest horrible huge identical
    immediately impossible incredible indeed instead interesting lately lazy likewise
    literally lovely lucky mainly maybe meanwhile merely mortified naturally nearby nearly
    necessary neither nervous nevertheless nice normally nowhere obvious obviously occasionally odd
    okay ordinary otherwise overall particular perfectly pleasant possible possibly precise pretty
    previous previously probable probably proud quick quickly rare rarely ready recent recently
    regardless sad scared seldom sensible serious seriously severe silly similar simply slightly
    slow slowly somehow somewhat somewhere sorry soon straightaway strange stupid sudden
    suddenly super sure surprising terrible therefore tiny tired totally ugly unable unhappy
    unlikely upside upwards usual usually weird whatever whenever whereas wherever whichever
    whoever whose wonderful worse worst worth wrong yours
    """


def _forms(verb: str) -> tuple[str, ...]:
    stem = verb[:-1] if verb.endswith("e") else verb
    past = verb[:-1] + "ied" if verb.endswith("y") and verb[-2] not in "aeiou" else stem + "ed"
    ends_hissing = verb.endswith(("s", "sh", "ch", "x", "z"))
    third = verb + "es" if ends_hissing else verb + "s"
    return verb, third, past[:-2] + "es" if past.endswith("ied") else third, past


UNFIT_WORDS = frozenset(
    [form for verb in _VERBS.split() for form in _forms(verb)]
    + _IRREGULAR.split()
    + _OTHERS.split()
)

# German nouns are written large, so only what opens a sentence can be mistaken for one.
_GERMAN = """
    absurd acht andere anderthalb anderer bekommen bereits besser bestimmt bin bitte bleiben blieb
    blieben blöd bloß bloss brauche braucht bringt dachte danke dreißig dritte dritter drittes dumm
    ehrlich eigene einige eins endlich fehlt fertig finde fragen früher fünf ganz gefragt gegrüßt
    gehört gekauft genau gestern gesucht gesehen geschickt gewesen gibt gleich hatte herrlich hoffe
    hundert immerhin interessant irgendwie jeweils kam keiner komisch komplett konkret kommt kurz
    langsam lauter leider lieber letzte letzten letzter letztes logisch machen mehrere möglichst
    nachfragen nachmittags nachts nächste nächsten nächster nächstes natürlich nebenbei neue neuen
    neuer neues nimmt neun normal offenbar plötzlich prima prüfen rechte rechts richtig rund schade
    schlimm schluss schwierig sechs seltsam sicher sieben siehe sofort sozusagen spannend spätestens
    steht super tatsächlich teuer toll trotzdem typisch übrigens unbedingt ungefähr unklar verdammt
    vermutlich versuchen viel vielleicht vier völlig voll vorerst vorher vorhin vorläufig vorsichtig
    wahrscheinlich weitere wichtig witzig wohl wollte wunderbar zehn ziemlich zuerst zuletzt
    zumindest zunächst zurück zusätzlich zwanzig zweite zweiter zweites
    """
UNFIT_IN_GERMAN = frozenset(_GERMAN.split())
