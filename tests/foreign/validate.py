"""Holds the vectors to the canonical documents with a JSON Schema validator that is not ours.

Usage: validate.py DIRECTORY, the folder of the generated package. A vector with `"schema": true` must
have the verdict that it says, one with `"schema": false` the other one: what a JSON Schema cannot see is
written down exactly, no more and no less. Prints how many of each there were.
"""

import json
import pathlib
import sys

from jsonschema import Draft202012Validator


def main(directory: pathlib.Path) -> int:
    validators = {}
    for name in ("payloads", "schema"):
        path = directory / f"{name}.generated.json"
        if not path.exists():
            continue
        document = json.loads(path.read_text("utf-8"))
        for ty in document["$defs"]:
            # The reference is resolved in the whole document; nothing of the type is copied out.
            schema = {"$ref": f"#/$defs/{ty}", "$defs": document["$defs"]}
            validators.setdefault(ty, []).append(Draft202012Validator(schema))
    counts = {"agrees": 0, "cannot see": 0}
    wrong = []
    files = sorted((directory / "vectors").glob("*.jsonl"))
    for file in files:
        ty = file.stem
        for line in file.read_text("utf-8").splitlines():
            vector = json.loads(line)
            message = json.loads(vector["text"])
            for validator in validators[ty]:
                agrees = validator.is_valid(message) == vector["valid"]
                counts["agrees" if agrees else "cannot see"] += 1
                if agrees != vector["schema"]:
                    wrong.append(f"{file.name}: {line}")
    for line in wrong[:40]:
        print(line, file=sys.stderr)
    print(f"{len(files)} files, {counts['agrees']} agree, {counts['cannot see']} cannot be seen")
    return 1 if wrong or not files else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
