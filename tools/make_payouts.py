#!/usr/bin/env python3
"""Writes examples/payouts.ndjson: one burst of payouts for the demo and the tour. The same bytes every time.

500 payouts of merchant 8421, a handful of three other merchants, some without a merchant, some that are no JSON."""
import json
import pathlib
import random

OTHERS = {"1077": 7, "2310": 5, "9004": 3}
KEYLESS = 4
MALFORMED = [
    '{"payoutId":"pay_910001","merchant_id":"8421","amount":1200.00,',
    "payoutId=pay_910002;merchant_id=8421;amount=75.50",
    '{"payoutId":"pay_910003" "merchant_id":"2310"}',
]


def main():
    pick = random.Random(8421)
    events = []
    for number in range(500):
        events.append(payout(pick, 902184 + number, "8421"))
    number = 905000
    for merchant, count in OTHERS.items():
        for _ in range(count):
            events.insert(pick.randrange(len(events)), payout(pick, number, merchant))
            number += 1
    for _ in range(KEYLESS):
        events.insert(pick.randrange(len(events)), payout(pick, number, None))
        number += 1
    for line in MALFORMED:
        events.insert(pick.randrange(len(events)), line)
    target = pathlib.Path(__file__).resolve().parent.parent / "examples" / "payouts.ndjson"
    target.write_text("\n".join(events) + "\n")
    print(f"{target.name}: {len(events)} lines")


def payout(pick, number, merchant):
    fields = {"payoutId": f"pay_{number}"}
    if merchant:
        fields["merchant_id"] = merchant
    # The amount keeps its two digits: a drip must not change the bytes of an event.
    text = json.dumps(fields, separators=(",", ":"))
    amount = f"{pick.randrange(100, 1_000_000) / 100:.2f}"
    return text[:-1] + f',"amount":{amount},"currency":"INR","account":"acct_{pick.randrange(10**8):08d}"}}'


if __name__ == "__main__":
    main()
