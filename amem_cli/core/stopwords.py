"""Words that carry grammar and no subject, by language, and Chinese characters that do the same."""

from __future__ import annotations


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _listed(
    """
    a able about above across after again against ago all almost along already also although
    always am among an and another any anybody anyone anything anyway are aren't around as ask
    asked at away back be became because become been before behind being below between both
    but by came can can't cannot come comes could couldn't did didn't do does doesn't doing
    don't done down during each either else enough even ever every everybody everyone
    everything few find for found from gave get gets getting give gives go goes going gone got
    had hadn't has hasn't have haven't having he he'd he'll her here hers herself him himself
    his how however i i'd i'll i'm i've if in instead into is isn't it it'd it'll its itself
    just keep keeps kept know last least less let lets like likely made make makes making many
    may maybe me mean might mine more most much must my myself need neither never next no
    nobody none nor not nothing now of off often oh ok on once one ones only onto or other
    others our ours ourselves out over own per perhaps please put quite rather really said
    same saw say says see seem seems seen several shall she she'd she'll should shouldn't
    since so some somebody someone something sometimes soon still such sure take taken takes
    than that the their theirs them themselves then there these they they'd they'll they're
    they've thing things think this those though three through till to today together told
    tomorrow too took toward towards try two under unless until up upon us use used uses using
    usually very via want wanted wants was wasn't way we we'd we'll we're we've well went were
    weren't what whatever when whenever where whether which while who whole whom whose why
    will with within without won't would wouldn't yes yesterday yet you you'd you'll you're
    you've your yours yourself etc eg ie vs w d s t re ll ve m
    """
)

GERMAN = _listed(
    """
    ab aber alle allein allem allen aller alles als also am an and andere anderem anderen
    anderer anderes anders auch auf aus bald bei beide beiden beim bereits bin bis bisher bist
    bleibt da dabei dadurch dafür dagegen daher dahin damals damit danach daneben dann daran
    darauf daraus darf darin darum darüber das dass davon davor dazu dein deine dem den denen
    denn dennoch der deren des deshalb dessen dich die dies diese dieselbe diesem diesen
    dieser dieses dir doch dort drei drin du durch dürfen ebenso egal eher eigentlich ein eine
    einem einen einer eines einfach einmal endlich er erst es etwa etwas euch euer eure evtl
    fast für gab ganz ganze ganzen gar geben gegen gehen geht gemacht genau genug gerade gern
    gesagt gestern gibt ging gleich gut habe haben hab halt hat hatte hatten heute hier hin
    hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in indem ins irgend irgendein
    ist ja jede jedem jeden jeder jedes jemand jene jetzt kam kann kannst kaum kein keine
    keinem keinen keiner kommen kommt konnte können lange lassen leider letzte letzten lieber
    liegt machen macht mal man manche mehr mein meine meinem meinen meiner meist mich mir mit
    morgen muss musste müssen na nach nachdem neben nein nicht nichts nie niemand nimmt noch
    nun nur ob oben oder oft ohne paar recht sagen sagt schon sehr sei seien sein seine seinem
    seinen seiner seit selbst sich sie siehe sieht sind so sobald sogar solche soll sollen
    sollte sondern sonst soweit sowie statt steht stets tun über überhaupt um und uns unser
    unsere unter usw viel viele vielen vielleicht vom von vor vorher wann war waren warum was
    wegen weil weiter welche welchem welchen welcher welches wenig wenn wer werden wie wieder
    wieso will wir wird wirklich wo wobei wohl wohin wollen wollte womit worden wurde wurden
    würde würden zu zuerst zuletzt zum zur zusammen zwar zwei zwischen bzw ca ggf inkl vgl
    sowas ne nen hätte wäre wär darfst dr lässt bleiben
    """
)

FRENCH = _listed(
    """
    ai ainsi alors après as au aucun aussi autre autres aux avait avant avec avez avoir avons
    beaucoup bien c'est car ce ceci cela celle celles celui cependant ces cet cette ceux
    chaque chez ci comme comment d'un d'une dans de depuis des deux doit donc dont du elle
    elles en encore entre est et était étaient été être eu eux fait faire font il ils j'ai je
    jusque la là le les leur leurs lui mais me même mes mon ne ni nos notre nous on ont ou où
    par parce pas pendant peu peut plus pour pourquoi près qu'il qu'on quand que quel quelle
    qui quoi sa sans se sera ses si son sont sous sur ta tes toi ton toujours tous tout toute
    toutes très trop tu un une vers voir vos votre vous
    """
)

SPANISH = _listed(
    """
    al algo algunos ante antes aquí así aún aunque bien cada casi como con contra cual cuando
    de del desde donde dos durante e el él ella ellas ellos en entonces entre era eran es esa
    esas ese eso esos está están estaba este esta estas esto estos fue fueron ha había han
    hasta hay hoy la las le les lo los luego más me menos mi mientras mis muy nada ni no nos
    nosotros o otra otras otro otros para pero poco por porque pues que qué quien se sea ser
    si sí siempre sido sin sobre solo son su sus también tan tanto te tiene tienen todo toda
    todos todas tu un una uno unos usted y ya yo
    """
)

# These are stop words of another language, yet subjects to somebody who writes English.
SUBJECTS_IN_ENGLISH = _listed(
    """
    ai arm bald bin car con die dies dos era eu fast gab gut halt hat hay hin kind los mal man
    mine mis nos pour sea sera sin solo son sous sur tag tes ton tun uno war wer
    """
)

STOPWORDS_BY_LANGUAGE = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH, "es": SPANISH}
LATIN_STOPWORDS = (GERMAN | FRENCH | SPANISH) - SUBJECTS_IN_ENGLISH | ENGLISH

# Worth searching for, but never what a note is about.
GENERIC_WORDS = _listed(
    """
    first second good bad better best big small little long short old new great nice early
    late later last next day days week weeks month months year years time times hour hours
    minute minutes morning evening night today tomorrow yesterday part parts half thing things
    way lot lots bit kind sort idea people man woman look looked looks show said says told
    tried want wanted need needs know known think mean means use used uses using monday
    tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december mon tue wed thu fri sat sun jan feb mar
    apr jun jul aug sep oct nov dec tag tage tagen woche wochen monat monate jahr jahre jahren
    uhr stunde stunden minuten mal zeit grosse grossen grosser kleine kleinen kleiner alte
    alten alter neue neuen neuer neues gute guten gut erste ersten erster zweite zweiten
    letzte letzten morgen abend abends gestern heute früh früher spät später stück ding sache
    leute montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai
    juni juli oktober dezember mo di mi do fr sa so
    """
)

# Words of nearly every German text, and of hardly a text in any other language.
SIGNS_OF_GERMAN = _listed(
    """
    und ist nicht eine einen einem einer für auf wir ich wird werden wurde auch sich noch oder zum
    zur über kein keine dem beim vom durch dass wenn aber schon heute nach bei das der sind haben
    """
)

CHINESE_FUNCTION_CHARACTERS = frozenset(
    "的了是在我有和就不人都一个上也很到说要去你会着没看好自己这那他她它们吗呢吧啊与及或但而被把从对"
    "让给向于以为之其所如若因此则即又还再只才更最能可将已过得地等么什怎哪谁几多少些每种时候后前里中"
    "來個們為說會還這對時沒過開後裡從"
)
