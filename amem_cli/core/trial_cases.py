"""The small cases that a language model is tried with: everyday notes, and what is right."""

from __future__ import annotations

from dataclasses import dataclass

TRIAL = "trial-1"
VOCABULARY = ("baking", "garden", "health", "home", "travel", "work", "databases", "books")


@dataclass(frozen=True, slots=True)
class MetadataCase:
    """A note whose keywords and context are asked for.

    Attributes:
        about: parts of words, small letters; a keyword that holds one is about the note's matter.
    """

    title: str
    text: str
    about: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OlderNote:
    """A note that is there already."""

    title: str
    context: str
    text: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkCase:
    """A new note beside older ones.

    Attributes:
        related: places among the older notes of those that belong with it; the others only look
            alike.
        changes: the note makes the summary of a related one wrong.
    """

    title: str
    context: str
    text: str
    older: tuple[OlderNote, ...]
    related: frozenset[int]
    changes: bool = False


TrialCase = MetadataCase | LinkCase

# What decides most comes first, for a slow model is asked only as many as a minute holds.
PROBES = 3
TRIAL_CASES: tuple[TrialCase, ...] = (
    MetadataCase(
        "Sourdough rises slower in winter",
        "At 18 degrees in the kitchen the dough needed nine hours instead of five. A warm oven with"
        " only the lamp on brings it back to six hours without the crust getting thick.",
        ("dough", "oven", "crust", "winter", "degrees", "kitchen"),
    ),
    MetadataCase(
        "Backups that nobody had tried",
        "The nightly dump of the shop's database had been empty since February: the disk was full"
        " and the script ended with success all the same. We only saw it when we had to restore."
        " From now on a restore into a spare machine runs every Sunday and its rows are counted.",
        ("backup", "dump", "database", "restore", "disk", "script"),
    ),
    LinkCase(
        "Ferry to Gozo no longer takes cash",
        "Since May the ferry to Gozo takes cards and the app alone, no coins any more.",
        "The man at the Gozo ferry sent us back: since May they take cards or the app, no cash. The"
        " machine for coins is gone. So the purse of coins for the ferry can stay at home.",
        (
            OlderNote(
                "Bring coins for the Gozo ferry",
                "The Gozo ferry must be paid in coins, at the machine on the pier.",
                "The ferry to Gozo is paid in coins at the machine on the pier; cards do not work.",
                ("Gozo ferry", "coins", "machine on the pier"),
            ),
            OlderNote(
                "Coin collection of grandfather",
                "Grandfather's coins from Malta are worth more for their story than in money.",
                "The dealer looked at the coins from Malta: forty euros for all of them, at most.",
                ("coin collection", "Malta", "dealer"),
            ),
            OlderNote(
                "Paying by card at the market",
                "Most stalls of the Saturday market take cards from ten euros on.",
                "At the Saturday market most stalls take cards now, though only from ten euros on.",
                ("Saturday market", "cards", "stalls"),
            ),
        ),
        frozenset({0}),
        changes=True,
    ),
    LinkCase(
        "Why the bean seedlings fell over",
        "Bean seedlings on the dark shelf grew long and thin and fell over for want of light.",
        "The beans from the shelf in the corridor grew long, pale and thin, and fell over when I"
        " planted them out. Those from the window sill stood. It was the light, not the water.",
        (
            OlderNote(
                "Seedlings need fourteen hours of light",
                "Seedlings stay short and strong with fourteen hours of light a day.",
                "Tomato and bean seedlings want fourteen hours of light; with less they stretch,"
                " get pale and break when they are planted out.",
                ("seedlings", "hours of light", "tomato"),
            ),
            OlderNote(
                "Shelf in the corridor came loose",
                "The corridor shelf fell because two plugs were too short for the plaster.",
                "The shelf in the corridor fell down with all the books: two plugs were too short.",
                ("shelf", "corridor", "plugs"),
            ),
            OlderNote(
                "Bean soup for a cold evening",
                "White beans with sage and lemon, soaked overnight, make the best soup.",
                "Soak the white beans overnight, cook them with sage, add lemon at the very end.",
                ("bean soup", "white beans", "sage"),
            ),
        ),
        frozenset({0}),
    ),
    MetadataCase(
        "Der Keller ist nach dem Regen wieder feucht",
        "Nach drei Tagen Regen steht an der Nordwand im Keller ein Finger breit Wasser. Der Maurer"
        " sagt, die Dachrinne laufe über, weil das Fallrohr voller Laub ist; die Wand selbst sei"
        " dicht. Erst das Fallrohr reinigen, dann weiter sehen.",
        ("keller", "regen", "fallrohr", "dachrinne", "nordwand", "wasser", "laub", "wand"),
    ),
    LinkCase(
        "Dentist moved the check-up to June",
        "The dental check-up is on 12 June now, because the practice is rebuilt in May.",
        "The practice called: they rebuild in May, so my check-up with Dr. Amin is on 12 June at"
        " eight, and not on 4 May as planned.",
        (
            OlderNote(
                "Check-up with Dr. Amin on 4 May",
                "The dental check-up with Dr. Amin is on 4 May at eight.",
                "Check-up with Dr. Amin on 4 May at eight, bring the insurance card.",
                ("check-up", "Dr. Amin", "4 May"),
            ),
            OlderNote(
                "Rebuilding the bathroom in June",
                "The bathroom is rebuilt in June; the tiler comes on the twelfth.",
                "The tiler comes on 12 June at eight; the bathroom cannot be used for a week.",
                ("bathroom", "tiler", "June"),
            ),
            OlderNote(
                "Practice the cello in the morning",
                "Half an hour of cello before breakfast works better than an hour at night.",
                "Half an hour of practice at eight in the morning beats an hour late at night.",
                ("cello", "practice", "morning"),
            ),
        ),
        frozenset({0}),
        changes=True,
    ),
    LinkCase(
        "Running shoes wear out on the left",
        "The left running shoe wears out on the outside after 500 kilometres.",
        "After 500 kilometres the left shoe is worn on the outside and the right one is fine. The"
        " shop filmed me running: the left foot tips outwards.",
        (
            OlderNote(
                "Running the dishwasher at night",
                "The dishwasher runs after ten, when the power is cheaper.",
                "Run the dishwasher after ten: the power costs a third less, and nobody hears it.",
                ("dishwasher", "power", "night"),
            ),
            OlderNote(
                "The shop on the left bank closes",
                "The bookshop on the left bank closes at the end of March.",
                "The shop on the left bank of the river closes in March; everything is half price.",
                ("bookshop", "left bank", "March"),
            ),
            OlderNote(
                "Film night with the neighbours",
                "On the first Friday the neighbours watch a film in our cellar.",
                "First Friday of the month: film night in the cellar, everyone brings a chair.",
                ("film night", "neighbours", "cellar"),
            ),
        ),
        frozenset(),
    ),
    LinkCase(
        "Lea sleeps through since the lamp is gone",
        "Lea has slept through for a week since the night lamp was taken out of her room.",
        "A week without the night lamp, and Lea sleeps through until six. It was the light that"
        " woke her, not hunger, as the midwife had said.",
        (
            OlderNote(
                "Lea wakes at three every night",
                "Lea wakes at three each night; hunger, the room's warmth or the lamp may be why.",
                "Lea wakes at three, every night for two weeks. Hunger? Too warm? The night lamp?",
                ("Lea", "wakes at night", "night lamp"),
            ),
            OlderNote(
                "A lamp for the desk",
                "A desk lamp with warm light costs less at the second-hand shop.",
                "Found a lamp for the desk at the second-hand shop, warm light, twelve euros.",
                ("desk lamp", "second-hand shop"),
            ),
            OlderNote(
                "Sleeping bag for the hut",
                "The hut wants a sleeping bag of cotton and gives out blankets.",
                "For the hut take the thin sleeping bag; blankets are there, sheets are not.",
                ("sleeping bag", "hut", "blankets"),
            ),
        ),
        frozenset({0}),
        changes=True,
    ),
    MetadataCase(
        "Talking to the landlord about the heating",
        "Mrs. Okafor agrees to pay half of the new heat pump if we stay three more years. She wants"
        " two offers from firms in town before the summer. I ask Brandt and Sons first, since they"
        " know the house.",
        ("landlord", "heat", "okafor", "brandt", "offer", "firm"),
    ),
    LinkCase(
        "Rye bread keeps a week in linen",
        "Rye bread stays good for a week in a linen bag, as the sour keeps mould away.",
        "The rye loaf in the linen bag was still good after seven days. The sour in it keeps the"
        " mould away, as with the wheat sourdough, only longer.",
        (
            OlderNote(
                "Sourdough bread does not go mouldy",
                "The acid of sourdough keeps bread from going mouldy for days.",
                "Wheat sourdough lay five days without mould; the acid holds it back.",
                ("sourdough", "mould", "acid"),
            ),
            OlderNote(
                "Linen trousers for the journey",
                "Linen trousers dry overnight and suit the heat of the south.",
                "Linen dries overnight, so two pairs of trousers are enough for a week.",
                ("linen trousers", "journey"),
            ),
            OlderNote(
                "Mould behind the wardrobe",
                "Mould grows behind the wardrobe since it stands close to the cold wall.",
                "There is mould behind the wardrobe; it has to stand a hand away from the wall.",
                ("mould", "wardrobe", "cold wall"),
            ),
        ),
        frozenset({0}),
    ),
)
