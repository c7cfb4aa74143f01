"""Everyday words of English and German: too common in speech to tie two notes together.

In a small vault nearly every word is rare; these lists stand in for the frequency of words in the
language, which a vault's own counts cannot show yet.
"""

from __future__ import annotations

EVERYDAY_ENGLISH = frozenset(
    word
    for line in """
    able accept add afford afraid again agree allow alone angry annoyed answer apologise
    appear area argue arrive asks attention aunt average bag bed beer began begin believe
    belong black blue body boring born bought box break breath bright bring broke broken
    brother brought brown build building built busy buy call called calm card care careful
    carry case catch caught cause certain chair chance change changed chapter cheap check
    child children choose city clean clear clever climb close closed cloth coat coffee cold
    colour comes comfortable common complain complete completely copies copy corner cost count
    country couple course cover cross cry cup cut dad dark date daughter dead deal dear decide
    decided deep didn die difference different difficult dinner dirty dog door double doubt
    draft drank draw dream drink drive drop drove dry easier easily easy eat eight eleven
    empty end ended engine enjoy entire evening exact exactly excited exist expect expensive
    explain explained extra eye eyes face fact fail fair fall false family far fast father
    feel feeling feet fell felt few fifteen fifth fifty fight figure fill final finally fine
    finger finish finished fire fit five fix flat floor fly follow followed food foot forget
    forgot form former forty forward four fourth free fresh friend friends front full fun
    funny game garden general gets gift girl glad glass god goes gold green grew grey ground
    group grow guess guy hair half hall hand hands hang happen happened happens happy hard hat
    hate head hear heard heart heavy held hello help high hit hold hole holiday home honest
    hope horse hot hour house huge hundred hungry hurt husband imagine important inside
    interested interesting job join joke key kid kids kill kitchen knew laid land large laugh
    laughed laughs lay lead learn learned leave leaves led left leg lend length lesson letter
    level lie lies life lift light line lines list listen live lived lives load loan local
    lock looks lose lost lot loud love loved lovely low luck lucky lunch mad mail main mark
    married matter max meant meet meeting mention mess message met middle min mind minus miss
    missed missing mistake mix moment money mood mostly mother mouth move moved moves mum
    music name named names narrow nearly neck needs nervous nice nine nobody noise noon normal
    nose note notes notice noticed nowhere number numbers obvious odd offer office open opened
    order ordinary outside page pages paid pain pair paper parents pass passed past pay
    percent perfect person phone photo pick picked picture pictures piece pieces pink place
    places plain plan plans play please plenty plus point points polite poor possible post
    pour prefer present press pretty price print probably problem problems promise promised
    proper properly proud public pull pulled push quarter question questions quick quickly
    quiet quietly rain ran rang read ready real reason red refuse remember rest result return
    rich ride right ring road room rooms round row rude rule rules run running runs sad safe
    sat save says school sea seat seconds seems sell send sense sent serious seven shape share
    sharp shop short shoulder shout shouted shows shut side sign silent simple single sister
    sit sits sitting six size sky sleep slept slow slowly smell smile smoke soft sold solve
    son soon sorry sort sound space spare speak spend spent spoke spot stand standing stands
    star start started starts state stay stayed stays step stick stood stop stopped stops
    story straight strange street strong stuck stupid style suddenly suit summer sun suppose
    surprise surprised swear sweet table talk talked talking tall taste tea teach team tell
    ten terrible test text thank thanks thick thin third thirty thought thousand threw throw
    ticket tidy tight tired title toe tomorrow tonight top torn total touch towards town tram
    tries trip trouble true trust truth turn turned turns twelve twenty twice type ugly uncle
    understand unusual upset visit voice wait waited waiting walk walked wall wants warm wash
    watch watched water weak wear weather weekend weigh weight weird west wet white wide wife
    wild window winter wish woman women won wonder word words wore work worked working works
    world worry worse worst worth write written wrong wrote yellow young zero
    """.splitlines()
    for word in line.split()
)

EVERYDAY_GERMAN = frozenset(
    word
    for line in """
    abends abgeholt abholen ablehnen absolut alleine alter anderswo anfang anfangen angenehm
    angerufen angst anhieb ankommen anruf anrufen anschauen antwort antworten arbeit arbeiten
    arm art aufhören aufstehen auge augen ausgemacht ausprobieren aussehen baut bekommen
    bekommt besser bestellt bezahlen bezahlt bild bilder billig bisschen bitte blatt bleibe
    blick boden brauche brauchen braucht breit brief bringen bringt buch deutlich dick ding
    dinge drauf draussen dumm dunkel dünn eben echt ecke ehrlich eigene eigenen eilig einig
    eins ende entweder erklärt erzählt essen fahren fall falsch familie fand farbe fehlt
    fenster fertig fest finde finden findet finster frage fragen fragt frau frauen frei fremd
    freund freundin freut froh fuhr fuss fährt fühlt fünf gebracht gedacht geduld gefragt
    gefunden gefällt gegangen gehabt gehalten gehört gekauft gekommen gelassen geld gelegt
    gelesen gemeldet genannt genauso genommen geschafft geschickt geschrieben gesehen gesicht
    gesprochen gestanden gestellt gewesen geworden glaube glaubt glück grau grund gruppe grün
    halb halbe halben hand hart haus heisst hell herr hilfe hilft hinten hinterher hoch hoffe
    hoffentlich hund hunger hängen hängt idee immerhin innen irgendwann irgendwas irgendwie
    irgendwo jung junge jungen kalt karte kind kinder klar klein klingt komisch komplett kopf
    kosten kostet krank kurz lachen lacht laden lang langsam laufen laut leben leer leicht
    leid leise lernen lesen lieb liebe links liste läuft macht mann meinen meint meldet merken
    mitgenommen mitnehmen mitte mittel mund musik mutter möchte müde mühe nachher nachts nah
    name namen nass nehmen nennt nett nummer nähe nötig oma opa ordnung ort papier platz
    plötzlich preis problem pünktlich rauf raum raus rausgenommen rechts rede reden regen
    reicht reihe rein richtig rot ruf rufe rufen ruhe ruhig rund runter rüber sachen satz
    schade schaffen schafft schaut schicken schickt schlafen schlecht schlimm schlimmer
    schnell schreiben schreibt schuld schwach schwarz schwer schön schöne sechs sehe sehen
    seite seiten setzt sicher sieben sitzt sofort sohn sommer sonne spielen spricht später
    stand stark stehen stelle stellen stellt stimmt strasse streit stück suche suchen sucht
    tisch tochter total traut treffen trinken typ tür umsonst ungefähr ungern unten unterwegs
    urlaub vater vergessen versprochen verstehe verstehen versucht vier voll vorher vorn
    völlig wand warm warte warten wartet wasser weg weiss weit welt wenigstens wetter wichtig
    wieviel wind winter wissen woanders wohnung wort worte wunsch zahl zahlen zahlt zehn zeigt
    zettel zimmer zufrieden zufällig zugesagt zusätzlich zwanzig übrig
    """.splitlines()
    for word in line.split()
)

EVERYDAY_WORDS = EVERYDAY_ENGLISH | EVERYDAY_GERMAN
