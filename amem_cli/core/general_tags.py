"""General tags that people use for notes, with words that speak for each, in English and German."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from amem_cli.core.words import detect_language, stem, words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amem_cli.core.ports import Vectors

    Vector = npt.NDArray[np.float32]

_MAX_TEXT = 8_000

# English tag | German tag | English words | German words. What is a word of many subjects is not
# among them: one word in a note must be able to speak for a subject.
_LISTED = """
art | kunst | painting painter sculpture gallery artwork exhibition museum drawing artist curator
| malerei maler skulptur galerie ausstellung museum zeichnung künstler kuratorin vernissage
atelier ;
backup | backup | backup backups restore snapshot rsync archive nas | backup sicherung
datensicherung rsync nas wiederherstellung festplatte ;
books | buch | book novel chapter author paperback publisher essay | buch roman kapitel autor
autorin lesen gelesen verlag essay ;
car | auto | car engine tyre tyres driving petrol diesel clutch | auto motor reifen werkstatt
tanken diesel führerschein kupplung ;
contract | vertrag | contract clause signed agreement lease lawyer | vertrag klausel unterschrift
vereinbarung agb nutzungsrechte kündigung mietvertrag laufzeit anwalt ;
customers | kunden | customer till customers client clients regulars complaint complained shopper
| kunde kunden kundin auftraggeber auftraggeberin reklamation stammkunden ;
database | datenbank | postgres postgresql mysql sqlite sql database index query vacuum replica
schema transaction | datenbank postgres mysql sqlite sql abfrage index schema transaktion ;
decision | entscheidung | decided decision decide adr agreed settled verdict | entschieden
entscheidung beschlossen beschluss entscheiden festgelegt ;
design | design | design layout typography font mockup logo colour prototype sketch | design
layout typografie schrift entwurf logo gestaltung prototyp ;
events | veranstaltung | event fair festival concert party ceremony opening parade meetup |
veranstaltung fest festival konzert feier markt eröffnung rundgang vernissage vortrag ;
family | familie | mum mom mother dad father sister brother son daughter uncle aunt nephew niece
grandma grandpa grandmother cousin parents | mama mutter papa vater schwester bruder sohn tochter
onkel tante neffe nichte oma opa eltern cousine familie ;
film | film | movie movies watchlist cinema director documentary scene actor screenplay | kino
regisseur dokumentarfilm szene schauspieler drehbuch ;
food | essen | menu dish bread cheese dinner lunch breakfast restaurant taste soup sandwich |
speisekarte gericht brot käse abendessen mittagessen frühstück restaurant suppe milch ;
friends | freunde | friend friends friendship | freunde freundin freundschaft ;
garden | garten | garden seeds soil compost tomato tomatoes prune lawn bulbs greenhouse sow plant
hedge | garten samen erde kompost tomaten beet rasen gewächshaus säen hecke pflanze ;
health | gesundheit | doctor hospital clinic pain medicine headache therapy physio symptom surgery
diagnosis allergy dentist pills | arzt ärztin hausärztin krankenhaus schmerzen medikament
kopfschmerzen therapie physio symptom operation diagnose allergie zahnarzt tabletten ;
history | geschichte | century war empire medieval historian revolution | jahrhundert krieg reich
mittelalter historiker revolution antike kaiser ;
home | zuhause | flat apartment sofa shelf kitchen plumber heating landlord washing furniture
balcony wardrobe neighbour | wohnung sofa regal küche klempner heizung vermieter waschmaschine
möbel balkon schrank spülmaschine nachbar ;
idea | idee | idea ideas brainstorm concept inspiration | idee ideen einfall konzept inspiration ;
incident | störung | incident outage postmortem crashed downtime inc pager | störung ausfall
vorfall panne absturz ;
insurance | versicherung | insurance insurer claim premium coverage policy | versicherung
versicherer police schaden selbstbehalt prämie ;
language | sprache | vocabulary grammar verb pronunciation translation dialect language | vokabel
grammatik verb aussprache übersetzung dialekt sprache ;
learning | lernen | learned learnt course exam lecture tutorial class | gelernt kurs prüfung
vorlesung studium lektion lernen unterricht ;
marketing | marketing | marketing newsletter poster flyer instagram campaign advert advertising
followers brand | marketing newsletter plakat flyer instagram kampagne werbung visitenkarte
einladungskarte ;
mathematics | mathematik | theorem proof equation algebra geometry probability lemma integral |
beweis gleichung algebra geometrie wahrscheinlichkeit lemma integral ;
meeting | besprechung | meeting minutes agenda standup attendees one-on-one | besprechung
protokoll tagesordnung sitzung jahresgespräch vorgespräch ;
money | geld | invoice budget paid payment price prices cost costs rent bank salary fee deposit
takings profit refund | rechnung budget bezahlt zahlung preis preise kosten miete bank kredit
gehalt gebühr anzahlung umsatz gewinn angebot honorar tagessatz ;
monitoring | monitoring | monitoring dashboard metrics alert alerts grafana prometheus latency
pager | monitoring dashboard metriken alarm grafana prometheus latenz ;
music | musik | song album band guitar piano choir concert chord melody orchestra | lied album
band gitarre klavier chor konzert akkord melodie orchester chorprobe ;
nature | natur | bird birds forest river mountain blackbird wildlife flower meadow | vogel vögel
wald baum fluss berg amsel blume wiese ;
people | menschen | colleague introvert personality met kind | kollege kollegin persönlichkeit
kennengelernt charakter ;
pets | haustiere | dog cat puppy kitten vet leash aquarium hamster | hund katze welpe tierarzt
leine aquarium hamster ;
philosophy | philosophie | philosophy ethics metaphysics kant stoic epistemology free-will
consciousness aristotle | philosophie ethik metaphysik kant stoiker erkenntnistheorie bewusstsein
aristoteles ;
photography | fotografie | camera lens tripod aperture exposure portrait photographer negative
darkroom shutter photo photos | kamera objektiv stativ blende belichtung porträt porträts fotograf
fotografin negativ dunkelkammer foto fotos ;
physics | physik | quantum relativity particle entropy photon gravity thermodynamics | quanten
relativität teilchen entropie photon schwerkraft thermodynamik ;
politics | politik | election parliament minister government vote democracy senate | wahl
parlament minister regierung abstimmung demokratie bundestag stadtrat ;
printing | druck | print prints printer proofs paper ink zine | druck drucke drucker proofs papier
tinte probedrucke ;
productivity | produktivität | procrastination focus pomodoro habit routine todo inbox workflow
zettelkasten | aufschieben fokus pomodoro gewohnheit routine posteingang zettelkasten ;
programming | programmieren | python javascript rust compiler refactor api git algorithm debugging
regex | funktion python javascript rust compiler bibliothek api git algorithmus regex ;
psychology | psychologie | psychology cognitive bias behaviour therapy anxiety emotion |
psychologie kognitiv gedächtnis verhalten therapie angst emotion aufmerksamkeit ;
recipe | rezept | recipe flour dough butter oven bake tablespoon simmer knead ingredients yeast |
rezept mehl teig butter ofen backen hefe zutaten kneten ;
religion | religion | church prayer bible god faith buddhism mosque sermon | kirche gebet bibel
gott glaube buddhismus moschee predigt ;
repair | reparatur | repair repaired mechanic spare service serviced leak gasket | reparatur
repariert kaputt ersatzteil werkstatt defekt undicht dichtung ;
school | schule | school teacher pupil homework classroom | schule lehrer lehrerin schüler
hausaufgaben klasse prüfung ;
security | sicherheit | password encryption vulnerability phishing token certificate firewall |
passwort verschlüsselung sicherheitslücke phishing token zertifikat firewall ;
server | server | server linux docker kubernetes deploy deployment ssh nginx cluster vm cpu |
server linux docker kubernetes ssh nginx cluster festplatte ;
shopping | einkaufen | buy bought shop ordered delivery | kaufen gekauft bestellt bestellung
lieferung geschäft ;
sleep | schlaf | sleep slept insomnia nap dream awake | schlaf geschlafen schlaflos nickerchen
traum ;
sport | sport | gym running marathon climbing yoga bike cycling swim football workout | laufen
marathon klettern yoga fahrrad schwimmen fussball fitness ;
staff | team | staff shift shifts rota apprentice assistant hiring employee overtime interview |
mitarbeiter schicht assistenz assistentin praktikant bewerbung angestellte ;
suppliers | lieferanten | supplier wholesale wholesaler delivery distributor | lieferant
großhandel lieferung händler ;
taxes | steuern | tax taxes vat deductible accountant | steuer steuern mehrwertsteuer umsatzsteuer
vorsteuer finanzamt steuerberater voranmeldung ust ;
thoughts | gedanken | wonder wondering perhaps realise thought | gedanke gedanken frage denke
nachgedacht ;
travel | reise | trip flight hotel airport guesthouse passport luggage journey tour holiday ferry
station | reise flug hotel flughafen pension koffer tour urlaub fähre bahnhof ausflug ;
wedding | hochzeit | wedding bride groom ceremony couple | hochzeit braut bräutigam brautpaar
trauung standesamt ;
work | arbeit | job boss office manager deadline colleague | job chef chefin büro auftrag kollege
kollegin einsatz ;
writing | schreiben | essay novel manuscript editor paragraph writing | entwurf essay roman
manuskript lektorat absatz schreiben
"""


GENERAL_NAMES = frozenset(
    name.strip() for line in _LISTED.split(";") for name in line.split("|")[:2]
)

_MOST_COMPARED = 6
_UNLIKE = 4
_LIKENESS_WEIGHT = 6.0
_LEAST_SCORE = 2.25
_LEAST_SCORE_ALONE = 1.3
_FOR_SAYING_AGAIN = 0.3


@dataclass(frozen=True, slots=True)
class GeneralTag:
    """A tag of the list as notes of one language have it.

    Attributes:
        stems: of the words that speak for it.
        described: its name and those words, to be encoded.
    """

    name: str
    stems: frozenset[str]
    described: str


@dataclass(frozen=True, slots=True)
class GeneralTagEvidence:
    """What the words of a note say of the general tags.

    Attributes:
        spoken_for: the tags that the note has words of, the likeliest first, with the weight of
            those words: about one each, two in the title.
        unlike: a few tags that it has no word of; their likeness to the note is what chance gives.
    """

    spoken_for: tuple[tuple[GeneralTag, float], ...]
    unlike: tuple[GeneralTag, ...]

    def texts(self) -> list[str]:
        """What is to be encoded, in the order in which `chosen` wants the vectors."""
        tags = [tag for tag, _ in self.spoken_for]
        return [tag.described for tag in (*tags, *self.unlike)] if tags else []

    def chosen(self, text_vector: Vector, vectors: Vectors, limit: int = 2) -> list[str]:
        """The tags that words and meaning of the note bear out, the best first.

        Args:
            text_vector: unit vector of the note.
            vectors: of `texts()`.

        Returns:
            At most `limit`; none where words and meaning say too little.
        """
        if not self.spoken_for:
            return []
        likeness = [float(value) for value in vectors @ text_vector]
        by_chance = sum(likeness[len(self.spoken_for) :]) / max(1, len(self.unlike))
        scores = [
            (weight + _LIKENESS_WEIGHT * (near - by_chance), tag.name)
            for (tag, weight), near in zip(self.spoken_for, likeness, strict=False)
        ]
        ranked = sorted(scores, reverse=True)[:limit]
        fitting = [name for score, name in ranked if score >= _LEAST_SCORE]
        # One that may fit is better than none: by it the note is found among the tags.
        return fitting or [name for score, name in ranked[:1] if score >= _LEAST_SCORE_ALONE]


def general_tag_evidence(title: str, text: str) -> GeneralTagEvidence:
    """The general tags that the words of a note speak for.

    Args:
        text: the note's, without its title.
    """
    spoken = Counter(map(stem, words(f"{title}\n{text[:_MAX_TEXT]}")))
    headed = set(map(stem, words(title)))
    weights: list[tuple[GeneralTag, float]] = []
    unlike: list[GeneralTag] = []
    for tag in general_tags(detect_language(f"{title}\n\n{text[:_MAX_TEXT]}")):
        found = tag.stems & spoken.keys()
        weight = sum(1 + _FOR_SAYING_AGAIN * math.log(spoken[each]) for each in found)
        if found:
            weights.append((tag, weight + len(found & headed)))
        else:
            unlike.append(tag)
    weights.sort(key=lambda entry: -entry[1])
    every = max(1, len(unlike) // _UNLIKE)
    return GeneralTagEvidence(tuple(weights[:_MOST_COMPARED]), tuple(unlike[::every][:_UNLIKE]))


@cache
def general_tags(language: str) -> tuple[GeneralTag, ...]:
    """The tags for notes of a language: German ones for `de`, English ones for any other."""
    made = []
    for line in _LISTED.split(";"):
        english, german, in_english, in_german = (part.strip() for part in line.split("|"))
        name, spoken = (german, in_german) if language == "de" else (english, in_english)
        made.append(GeneralTag(name, frozenset(map(stem, words(spoken))), f"{name}: {spoken}"))
    return tuple(made)
