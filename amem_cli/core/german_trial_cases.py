"""The cases of a model's trial that are written in German."""

from __future__ import annotations

from amem_cli.core.trial_note import OlderNote, TrialCase

CHOIR = TrialCase(
    "Chor probt jetzt donnerstags",
    "Ab September probt der Chor donnerstags um acht im Gemeindehaus statt dienstags um sieben in"
    " der Schule, weil die Aula umgebaut wird. Frau Yilmaz hat den Schlüssel.",
    ("chor", "prob", "donnerstag", "gemeindehaus", "aula", "yilmaz"),
    (
        OlderNote(
            "related",
            "Chorprobe dienstags um sieben",
            "Der Chor probt dienstags um sieben in der Aula der Schule.",
            "Chorprobe: dienstags um sieben, Aula der Schule, eigene Noten mitbringen.",
            ("Chorprobe", "Aula", "dienstags"),
        ),
        OlderNote(
            "look-alike",
            "Schlüssel für den Fahrradkeller",
            "Den Schlüssel zum Fahrradkeller hat donnerstags der Hausmeister.",
            "Der Hausmeister gibt den Schlüssel zum Fahrradkeller nur donnerstags bis acht heraus.",
            ("Schlüssel", "Fahrradkeller", "Hausmeister"),
        ),
        OlderNote(
            "look-alike",
            "Eine Probe vom Putz nehmen",
            "Eine Probe vom Putz der Schule geht ins Labor, ehe umgebaut wird.",
            "Vor dem Umbau wird vom Putz in der Schule eine Probe genommen, wegen Asbest.",
            ("Probe", "Putz", "Asbest"),
        ),
        OlderNote(
            "unrelated",
            "Tomaten nur von unten gießen",
            "Tomaten werden seltener krank, wenn die Blätter trocken bleiben.",
            "Tomaten von unten gießen, morgens: trockene Blätter bekommen keine Braunfäule.",
            ("Tomaten", "Braunfäule"),
        ),
    ),
    changes=True,
)
CELLAR = TrialCase(
    "Der Keller ist nach dem Regen wieder feucht",
    "Nach drei Tagen Regen steht an der Nordwand im Keller ein Finger breit Wasser. Der Maurer"
    " sagt, die Dachrinne laufe über, weil das Fallrohr voller Laub ist; die Wand selbst sei dicht."
    " Erst das Fallrohr reinigen, dann weiter sehen.",
    ("keller", "regen", "fallrohr", "dachrinne", "nordwand", "wasser", "laub", "wand"),
    (
        OlderNote(
            "related",
            "Das Fallrohr im Herbst reinigen",
            "Das Fallrohr an der Nordseite verstopft im Herbst durch das Laub der Linde.",
            "Jeden November das Fallrohr an der Nordseite reinigen: das Laub der Linde verstopft"
            " es, und die Dachrinne läuft über.",
            ("Fallrohr", "Laub", "Dachrinne"),
        ),
        OlderNote(
            "look-alike",
            "Regenjacke für den Norden",
            "Für drei Tage Regen im Norden reicht die alte Jacke nicht.",
            "Die Regenjacke hielt keine drei Tage dicht; vor der Reise neu imprägnieren.",
            ("Regenjacke", "Reise"),
        ),
        OlderNote(
            "look-alike",
            "Ein Regal an der Kellerwand",
            "An der Nordwand im Keller steht das Regal für die Einmachgläser.",
            "Das Regal für die Gläser kommt im Keller an die Nordwand, drei Bretter sind da.",
            ("Regal", "Keller", "Einmachgläser"),
        ),
        OlderNote(
            "unrelated",
            "Wörter mit drei gleichen Vokalen",
            "Schneeeule und Seeelefant werden seit der Reform mit drei e geschrieben.",
            "Seit der Reform: Schneeeule, Seeelefant, Teeernte. Ein Bindestrich ist erlaubt.",
            ("Rechtschreibung", "Vokale"),
        ),
    ),
)
HIVE = TrialCase(
    "Das zweite Bienenvolk hat keine Königin mehr",
    "In der zweiten Beute liegt seit zwei Wochen keine Brut, und die Bienen brausen unruhig: das"
    " Volk ist weisellos. Ich hänge eine Wabe mit Eiern aus der ersten Beute hinein, daraus ziehen"
    " sie sich eine neue Königin.",
    ("bien", "königin", "volk", "brut", "beute", "wabe", "weisel"),
    (
        OlderNote(
            "related",
            "Woran man ein weiselloses Volk erkennt",
            "Ein Bienenvolk ohne Königin braust und hat keine Eier in den Waben.",
            "Weisellos: keine Eier, keine Brut, lautes Brausen beim Öffnen der Beute.",
            ("weisellos", "Bienenvolk", "Brut"),
        ),
        OlderNote(
            "related",
            "Aus Eiern wird in sechzehn Tagen eine Königin",
            "Bienen ziehen sich aus jungen Eiern in sechzehn Tagen eine neue Königin.",
            "Hat ein Volk offene Brut mit Eiern, zieht es daraus in sechzehn Tagen eine Königin.",
            ("Königin", "Eier", "sechzehn Tage"),
        ),
        OlderNote(
            "look-alike",
            "Königin im Schach früh entwickeln",
            "Wer im Schach die Dame zu früh zieht, verliert Zeit.",
            "Die Königin, also die Dame, nicht in den ersten Zügen ziehen; sie wird nur gejagt.",
            ("Schach", "Dame", "Eröffnung"),
        ),
        OlderNote(
            "look-alike",
            "Bienenwachs für die Tischplatte",
            "Die Tischplatte wird mit Bienenwachs und Öl eingelassen.",
            "Zweimal dünn Öl, dann Bienenwachs; zwei Wochen warten, ehe die Platte nass wird.",
            ("Bienenwachs", "Tischplatte"),
        ),
    ),
)
