"""The three notes that the demo adds to the template vault, and the question it then asks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoNote:
    """A note as a person would add it: no metadata, so that the machine's part is visible."""

    title: str
    content: str


DEMO_NOTES: tuple[DemoNote, ...] = (
    DemoNote(
        title="Weekly review moves to Friday lunch",
        content=(
            "From this week I do the weekly review on Friday at half past twelve, in the canteen. "
            "It replaces the Sunday evening review, which I missed four times in nine weeks: "
            "visitors, late trains, tired children. On Friday the notes of the week are still "
            "warm, and a wrong link made by the program is only days old. The three questions "
            "stay the same. New is a limit: thirty minutes, then I stop, even in the middle of a "
            "note. I try this for three weeks and write down how it went."
        ),
    ),
    DemoNote(
        title="The handover sheet on ward six",
        content=(
            "On ward six, where my sister works, the evening nurse fills in a sheet and is gone "
            "before the night shift comes. Nobody can be asked at three in the morning. 'Bed 4 as "
            "yesterday' costs a phone call, so every line stands alone: name, drug, dose in "
            "milligrams, hour, and why. She imagines a tired stranger who has never met the "
            "patient, and puts down what that stranger must be told. Write for a reader who has "
            "forgotten, I once told myself; here I met him, at three in the morning."
        ),
    ),
    DemoNote(
        title="An hour on the first Monday of the month",
        content=(
            "The trial is over. I kept all three dates, so the hour was right and half an hour "
            "too short: for fifteen notes I checked the links and never came to splitting or "
            "rewriting one. From now on an hour on the first Monday of the month replaces the "
            "weekly review at Friday lunch. In between I only look at what the program did, on "
            "the train, with the list of changes open."
        ),
    ),
)
"""Added in this order. The first supersedes a practice of the template's. The second supports a
note with a case from elsewhere. The third changes what the first means, whose metadata the machine
wrote a moment before."""

DEMO_QUERY = "what did Friday lunch in the canteen replace?"
"""Its best hits are the notes on Friday and Monday. What they replaced, the Sunday evening, shares
no word with the question: a link that the machine made brings it in."""
