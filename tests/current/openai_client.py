"""Asks a gate once with OpenAI's client for Python: openai_client.py URL OPTIONS. Prints as JSON what came. openai_client.mjs does the same."""
import json
import sys

import openai

url, options = sys.argv[1], json.loads(sys.argv[2])
client = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=options["retries"], timeout=60)
found = {"pieces": [], "error": None}
try:
    answer = client.chat.completions.create(model="any", messages=[{"role": "user", "content": options["do"]}], stream=options["stream"],
                                            extra_headers=options["headers"])
    if options["stream"]:
        for piece in answer:
            found["pieces"].append(piece.choices[0].delta.content)
    else:
        found["pieces"].append(answer.choices[0].message.content)
except openai.APIError as error:
    found["error"] = {"class": type(error).__name__, "status": getattr(error, "status_code", None), "message": error.message,
                      "code": error.code, "type": error.type}
print(json.dumps(found))
