"""A small invented conversation in the shape of LoCoMo's file, with all its oddities."""

from __future__ import annotations

from typing import Any

SAMPLE: dict[str, Any] = {
    "sample_id": "conv-x",
    "conversation": {
        "speaker_a": "Ines",
        "speaker_b": "Tomas",
        "session_10_date_time": "",
        "session_10": [{"speaker": "Tomas", "dia_id": "D10:1", "text": "Long time no see."}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ines", "dia_id": "D1:1", "text": "Hi Tomas! I moved to Porto on Monday."},
            {"speaker": "Tomas", "dia_id": "D1:2", "text": "Great! I baked a lemon cake."},
            {
                "speaker": "Ines",
                "dia_id": "D1:3",
                "text": "My new kayak!",
                "img_url": ["https://example.org/kayak.jpg"],
                "blip_caption": "a photo of a red kayak on a lake",
                "query": "red kayak",
            },
        ],
        "session_2_date_time": "9:15 am on 2 June, 2023",
        "session_2": [
            {"speaker": "Tomas", "dia_id": "D2:1", "text": "I got 2 cats from the shelter."},
            {
                "speaker": "Tomas",
                "dia_id": "D2:02",
                "text": "",
                "blip_caption": "a grey cat asleep on a chair",
            },
        ],
        "session_11_date_time": "9:15 am on 3 June, 2023",
    },
    "event_summary": {},
    "qa": [
        {"question": "What do both like?", "answer": "Red", "evidence": ["D1:3; D2:1"],
         "category": 1},
        {"question": "When did Ines move?", "answer": "Monday, 1 May 2023",
         "evidence": ["D1:1", "D9:9", "D"], "category": 2},
        {"question": "Would Ines like the sea?", "answer": "Yes; she has a kayak", "evidence": [],
         "category": 3},
        {"question": "How many cats does Tomas have?", "answer": 2, "evidence": ["D2:1 D2:02"],
         "category": 4},
        {"question": "What did Tomas buy for the lake?", "adversarial_answer": "A red kayak",
         "evidence": ["D1:3"], "category": 5},
        {"question": "What is this?", "answer": "Nothing", "evidence": []},
    ],
}  # fmt: skip
