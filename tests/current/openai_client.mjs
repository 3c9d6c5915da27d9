// Asks a gate once with OpenAI's client for JavaScript: openai_client.mjs URL OPTIONS. Prints as JSON what came.
// openai_client.py does the same. The package is in build/current/node, where a copy of this file runs.
import OpenAI from "openai";

const [url, text] = process.argv.slice(2);
const options = JSON.parse(text);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries: options.retries, timeout: 60_000 });
const found = { pieces: [], error: null };
try {
  const asked = { model: "any", messages: [{ role: "user", content: options.do }], stream: options.stream };
  const answer = await client.chat.completions.create(asked, { headers: options.headers });
  if (options.stream) {
    for await (const piece of answer) found.pieces.push(piece.choices[0].delta.content);
  } else {
    found.pieces.push(answer.choices[0].message.content);
  }
} catch (error) {
  if (!(error instanceof OpenAI.APIError)) throw error;
  const { status = null, message, code, type } = error;
  found.error = { class: error.constructor.name, status, message, code, type };
}
console.log(JSON.stringify(found));
