// OpenAI's own client against a Turnpike with examples/stream: node client.mjs http://127.0.0.1:PORT
// Prints a line of JSON for each case; test_stream_openai.py judges the whole.
import assert from "node:assert/strict";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: "any", maxRetries: 0, timeout: 60_000 });
const ask = (more) => ({
  model: "babble", messages: [{ role: "user", content: "What is a lane?" }], seed: 1, max_tokens: 60, ...more,
});

/** The error that this promise ends with. */
async function refused(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: "that should have been refused" });
}

const cases = {
  async "a whole answer"() {
    const answer = await client.chat.completions.create(ask());
    assert.equal(answer.object, "chat.completion");
    assert.equal(answer.choices[0].message.role, "assistant");
    assert.equal(answer.choices[0].message.content.length, 60);
    assert.equal(answer.choices[0].finish_reason, "length");
    assert.deepEqual(answer.usage, { prompt_tokens: 21, completion_tokens: 60, total_tokens: 81 });
  },

  async "a stream is the same text, piece by piece"() {
    const whole = await client.chat.completions.create(ask());
    const stream = await client.chat.completions.create(ask({ stream: true, stream_options: { include_usage: true } }));
    const pieces = [];
    for await (const piece of stream) pieces.push(piece);
    const texts = pieces.map((piece) => piece.choices[0]?.delta.content ?? "");
    assert.equal(texts.join(""), whole.choices[0].message.content);
    assert.ok(texts.filter(Boolean).length > 50);
    assert.equal(pieces[0].choices[0].delta.role, "assistant");
    assert.equal(pieces.at(-2).choices[0].finish_reason, "length");
    assert.equal(pieces.at(-1).usage.completion_tokens, 60);
  },

  async "its stream helper puts the pieces together"() {
    const runner = client.chat.completions.stream(ask({ stream_options: { include_usage: true } }));
    let heard = "";
    runner.on("content", (piece) => { heard += piece; });
    const last = await runner.finalChatCompletion();
    assert.equal(last.choices[0].message.content, heard);
    assert.equal(last.usage.total_tokens, 81);
  },

  async "stop and plain completions"() {
    const all = await client.completions.create({ model: "babble", prompt: "A lane is", seed: 1, max_tokens: 60 });
    const stop = all.choices[0].text.slice(20, 24);
    const cut = await client.completions.create({ model: "babble", prompt: "A lane is", seed: 1, max_tokens: 60, stop });
    assert.equal(cut.choices[0].text, all.choices[0].text.split(stop)[0]);
    assert.equal(cut.choices[0].finish_reason, "stop");
  },

  async "models"() {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.deepEqual(ids, ["babble"]);
    assert.equal((await client.models.retrieve("babble")).id, "babble");
  },

  async "errors are those of OpenAI"() {
    const unknown = await refused(client.chat.completions.create(ask({ model: "gpt-4o" })));
    assert.ok(unknown instanceof OpenAI.NotFoundError, String(unknown));
    assert.deepEqual([unknown.status, unknown.code, unknown.param], [404, "model_not_found", "model"]);
    const hot = await refused(client.chat.completions.create(ask({ temperature: 3, stream: true })));
    assert.ok(hot instanceof OpenAI.BadRequestError, String(hot));
    assert.deepEqual([hot.param, hot.type, hot.code], ["temperature", "invalid_request_error", "decimal_out_of_range"]);
    assert.match(hot.message, /from 0 to 2/);
    assert.ok(await refused(client.models.retrieve("gpt-4o")) instanceof OpenAI.NotFoundError);
    assert.ok(await refused(client.embeddings.create({ model: "babble", input: "x" })) instanceof OpenAI.NotFoundError);
  },

  async "an abort in mid-stream"() {
    const stream = await client.chat.completions.create(ask({ stream: true, max_tokens: 1_000_000, ignore_eos: true }));
    let heard = 0;
    for await (const _ of stream) {
      if (++heard === 50) stream.controller.abort();
    }
    assert.ok(heard >= 50 && heard < 100_000, `${heard} pieces`);
  },

  async "and the lane is free for the next"() {
    assert.equal((await client.chat.completions.create(ask())).choices.length, 1);
  },
};

for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    console.log(JSON.stringify({ name, failure: null }));
  } catch (error) {
    console.log(JSON.stringify({ name, failure: String(error.stack) }));
  }
}
