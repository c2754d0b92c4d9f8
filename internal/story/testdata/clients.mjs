// Runs the clients of OpenAI's API, as they are on npm, against a daemon, and prints one
// line of JSON for each thing that was tried. Arguments: the base URL, a token, and the
// generation of the clients, old or new. The model is the server of clients_test.go.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [base, token, generation] = process.argv.slice(2);
const at = createRequire(process.env.DRAGOMAN_CLIENTS + "/package.json");
const load = (name) => import(pathToFileURL(at.resolve(name)).href);
const old = generation === "old";
const { default: OpenAI } = await load(old ? "openai6" : "openai7");
const ai = await load(old ? "ai6" : "ai7");
const { createOpenAICompatible } = await load(old ? "compatible2" : "compatible3");
const { createOpenAI } = await load(old ? "aiopenai3" : "aiopenai4");
const { ChatOpenAI } = await load(old ? "langchain15" : "langchain16");
const { z } = await load("zod");

const png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const user = (content) => [{ role: "user", content }];
const parameters = { type: "object", properties: { n: { type: "number" } } };

async function attempt(name, run) {
  let detail = "";
  try {
    detail = (await run()) ?? "";
  } catch (e) {
    detail = `${e?.name}: ${e?.message}`;
  }
  console.log(JSON.stringify({ name, detail: String(detail) }));
}

const openai = new OpenAI({ baseURL: base, apiKey: token });
const chat = (more) => openai.chat.completions.create({ model: "dragoman", ...more });
const tool = (name) => ({ type: "function", function: { name, parameters } });

await attempt("openai models", async () => (await openai.models.list()).data[0].id);
await attempt("openai chat", async () => (await chat({ messages: user("one") })).choices[0].message.content);
await attempt("openai chat stream", async () => {
  let text = "";
  let usage = 0;
  for await (const c of await chat({ messages: user("two"), stream: true, stream_options: { include_usage: true } })) {
    text += c.choices[0]?.delta.content ?? "";
    usage = c.usage?.total_tokens ?? usage;
  }
  return `${text} ${usage > 0}`;
});
await attempt("openai chat helper", async () => openai.chat.completions.stream({ model: "dragoman", messages: user("three") }).finalContent());
for (const word of ["one call", "two calls", "mixed calls"]) {
  await attempt(`openai ${word}`, async () => {
    const seen = [];
    const run = openai.chat.completions.runTools({
      model: "dragoman", messages: user(word),
      tools: [{ type: "function", function: { name: "pay", parameters, parse: JSON.parse, function: (a) => { seen.push(a.n); return `paid ${a.n}`; } } }],
    });
    return `${await run.finalContent()} [${seen}]`;
  });
}
await attempt("openai picture", async () => (await chat({
  messages: user([{ type: "text", text: "show" }, { type: "image_url", image_url: { url: png } }]),
})).choices[0].message.content.split("\n")[0]);
await attempt("openai json", async () => (await chat({
  messages: user("json"), response_format: { type: "json_schema", json_schema: { name: "x", schema: parameters, strict: true } },
})).choices[0].message.content);
await attempt("openai parsed", async () => (await openai.chat.completions.parse({
  model: "dragoman", messages: user("json"), response_format: { type: "json_schema", json_schema: { name: "x", schema: parameters, strict: true } },
})).choices[0].message.parsed.n);
await attempt("openai conversation", async () => {
  const headers = { "X-Session-Key": `web:clients-${generation}` };
  await openai.chat.completions.create({ model: "dragoman", messages: user("first") }, { headers });
  const second = await openai.chat.completions.create({ model: "dragoman", messages: user("second") }, { headers });
  return second.choices[0].message.content;
});
await attempt("openai unknown model", async () => chat({ model: "nothing", messages: user("x") }));
await attempt("openai failure", async () => chat({ messages: user("fail") }));
await attempt("openai failure in the stream", async () => {
  for await (const _ of await chat({ messages: user("break"), stream: true }));
});
await attempt("openai abort", async () => {
  const run = openai.chat.completions.stream({ model: "dragoman", messages: user("hold") });
  setTimeout(() => run.abort(), 300);
  return run.finalContent();
});
// losing is a fetch that loses its first answer, and says what the later ones were.
function losing() {
  const seen = { sent: 0, replayed: null };
  seen.fetch = async (...args) => {
    const answer = await fetch(...args);
    if (++seen.sent === 1) {
      await answer.text();
      throw new TypeError("fetch failed", { cause: new Error("the connection was lost") });
    }
    seen.replayed = answer.headers.get("idempotency-replayed");
    return answer;
  };
  return seen;
}
await attempt("openai repeat", async () => {
  const lost = losing();
  const lossy = new OpenAI({ baseURL: base, apiKey: token, fetch: lost.fetch });
  const data = await lossy.chat.completions.create({ model: "dragoman", messages: user("own call, once") });
  return `${data.choices[0].message.content} ${lost.sent} ${lost.replayed}`;
});
await attempt("openai responses repeat", async () => {
  const lost = losing();
  const lossy = new OpenAI({ baseURL: base, apiKey: token, fetch: lost.fetch });
  return `${(await lossy.responses.create({ model: "dragoman", input: "own call, responses" })).output_text} ${lost.sent} ${lost.replayed}`;
});
await attempt("openai responses abort", async () => {
  const run = openai.responses.stream({ model: "dragoman", input: "hold" });
  setTimeout(() => run.abort(), 300);
  return run.finalResponse();
});
await attempt("openai responses picture", async () => (await openai.responses.create({
  model: "dragoman", input: user([{ type: "input_text", text: "show" }, { type: "input_image", image_url: png }]),
})).output_text.split("\n")[0]);

await attempt("openai responses", async () => (await openai.responses.create({ model: "dragoman", input: "four" })).output_text);
await attempt("openai responses helper", async () => (await openai.responses.stream({ model: "dragoman", input: "five" }).finalResponse()).output_text);
await attempt("openai responses chain", async () => {
  const one = await openai.responses.create({ model: "dragoman", input: "recall 1" });
  const two = await openai.responses.create({ model: "dragoman", input: "recall 2", previous_response_id: one.id });
  return two.output_text;
});
await attempt("openai responses conversation", async () => {
  const conversation = await openai.conversations.create({});
  await openai.responses.create({ model: "dragoman", input: "recall 3", conversation: conversation.id });
  return (await openai.responses.create({ model: "dragoman", input: "recall 4", conversation: conversation.id })).output_text;
});
await attempt("openai conversation items", async () => {
  const conversation = await openai.conversations.create({ metadata: { topic: "demo" } });
  await openai.responses.create({ model: "dragoman", input: "kept", conversation: conversation.id });
  await openai.responses.create({ model: "dragoman", input: "kept, too", conversation: conversation.id });
  const said = [];
  for await (const item of openai.conversations.items.list(conversation.id, { limit: 3, order: "asc" })) {
    const one = await openai.conversations.items.retrieve(item.id, { conversation_id: conversation.id });
    said.push(`${one.role}: ${one.content[0].text}`);
  }
  const gone = await openai.conversations.delete(conversation.id);
  const after = await openai.conversations.retrieve(conversation.id).catch((e) => e.status);
  return `${said.join(", ")}; ${gone.object} ${gone.deleted}, then ${after}`;
});
await attempt("openai responses calls", async () => {
  const tools = [{ type: "function", name: "pay", parameters, strict: false }];
  const one = await openai.responses.create({ model: "dragoman", input: "mixed calls", tools });
  const input = one.output.filter((i) => i.type === "function_call").map((i) => ({ type: "function_call_output", call_id: i.call_id, output: "paid" }));
  return (await openai.responses.create({ model: "dragoman", input, tools, previous_response_id: one.id })).output_text;
});
await attempt("openai responses failure", async () => {
  for await (const e of await openai.responses.create({ model: "dragoman", input: "break", stream: true })) {
    if (e.type === "response.failed") throw new Error(e.response.error.message);
  }
});

const pay = ai.tool({ description: "Pay.", inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => `paid ${n}` });
const providers = {
  compatible: createOpenAICompatible({ name: "dragoman", baseURL: base, apiKey: token, includeUsage: true })("dragoman"),
  "openai.chat": createOpenAI({ baseURL: base, apiKey: token }).chat("dragoman"),
  "openai.responses": createOpenAI({ baseURL: base, apiKey: token }).responses("dragoman"),
};
const lossyModels = {
  compatible: (fetch) => createOpenAICompatible({ name: "dragoman", baseURL: base, apiKey: token, fetch })("dragoman"),
  "openai.chat": (fetch) => createOpenAI({ baseURL: base, apiKey: token, fetch }).chat("dragoman"),
  "openai.responses": (fetch) => createOpenAI({ baseURL: base, apiKey: token, fetch }).responses("dragoman"),
};
for (const [name, model] of Object.entries(providers)) {
  await attempt(`ai ${name} generate`, async () => (await ai.generateText({ model, prompt: "six" })).text);
  await attempt(`ai ${name} stream`, async () => {
    const run = ai.streamText({ model, prompt: "seven", onError() {} });
    let text = "";
    for await (const piece of run.textStream) text += piece;
    return `${text} ${await run.finishReason}`;
  });
  for (const word of ["one call", "two calls", "mixed calls"]) {
    await attempt(`ai ${name} ${word}`, async () => {
      const run = await ai.generateText({ model, prompt: word, tools: { pay }, stopWhen: ai.stepCountIs(4) });
      return `${run.text} ${run.steps.length}`;
    });
    await attempt(`ai ${name} ${word} stream`, async () => {
      const run = ai.streamText({ model, prompt: word, tools: { pay }, stopWhen: ai.stepCountIs(4), onError() {} });
      let text = "";
      for await (const piece of run.textStream) text += piece;
      return `${text} ${(await run.steps).length}`;
    });
  }
  await attempt(`ai ${name} second turn`, async () => {
    const first = await ai.generateText({ model, prompt: "one call", tools: { pay }, stopWhen: ai.stepCountIs(4) });
    const messages = [...user("one call"), ...first.response.messages, ...user("recall 5")];
    return (await ai.generateText({ model, messages, tools: { pay } })).text;
  });
  await attempt(`ai ${name} picture`, async () => (await ai.generateText({
    model, messages: user([{ type: "text", text: "show" }, { type: "image", image: png }]),
  })).text.split("\n")[0]);
  await attempt(`ai ${name} abort`, async () => {
    let aborted = false;
    const run = ai.streamText({ model, prompt: "hold", abortSignal: AbortSignal.timeout(300), onAbort() { aborted = true; }, onError() {} });
    let text = "";
    for await (const piece of run.textStream) text += piece;
    return `${text} ${aborted}`;
  });
  await attempt(`ai ${name} repeat`, async () => {
    const lost = losing();
    const run = await ai.generateText({ model: lossyModels[name](lost.fetch), prompt: `own call, ${name}`, headers: { "Idempotency-Key": `${name}-${generation}` } });
    return `${run.text} ${lost.sent} ${lost.replayed}`;
  });
  await attempt(`ai ${name} failure`, async () => (await ai.generateText({ model, prompt: "fail", maxRetries: 0 })).text);
  await attempt(`ai ${name} failure in the stream`, async () => {
    let failed = "";
    const run = ai.streamText({ model, prompt: "break", onError({ error }) { failed = error?.message ?? JSON.stringify(error); } });
    for await (const _ of run.textStream);
    return failed;
  });
}

for (const useResponsesApi of [false, true]) {
  const kind = useResponsesApi ? "responses" : "chat";
  const model = new ChatOpenAI({ model: "dragoman", apiKey: token, useResponsesApi, configuration: { baseURL: base }, maxRetries: 0 });
  await attempt(`langchain ${kind} invoke`, async () => (await model.invoke("eight")).text);
  await attempt(`langchain ${kind} stream`, async () => {
    let text = "";
    for await (const c of await model.stream("nine")) text += c.text;
    return text;
  });
  for (const word of ["one call", "two calls", "mixed calls"]) {
    await attempt(`langchain ${kind} ${word}`, async () => {
      const bound = model.bindTools([tool("pay")]);
      const one = await bound.invoke(user(word));
      const results = one.tool_calls.map((c) => ({ role: "tool", tool_call_id: c.id, content: `paid ${c.args.n}` }));
      return (await bound.invoke([...user(word), one, ...results])).text;
    });
  }
  await attempt(`langchain ${kind} picture`, async () => (await model.invoke(
    user([{ type: "text", text: "show" }, { type: "image_url", image_url: { url: png } }]),
  )).text.split("\n")[0]);
  await attempt(`langchain ${kind} abort`, async () => {
    let text = "";
    try {
      for await (const c of await model.stream("hold", { signal: AbortSignal.timeout(300) })) text += c.text;
    } catch {
      return `${text} aborted`;
    }
    return text;
  });
  await attempt(`langchain ${kind} repeat`, async () => {
    const lost = losing();
    const lossy = new ChatOpenAI({
      model: "dragoman", apiKey: token, useResponsesApi, maxRetries: 2,
      configuration: { baseURL: base, fetch: lost.fetch, defaultHeaders: { "Idempotency-Key": `langchain-${kind}-${generation}` } },
    });
    const answer = await lossy.invoke(`own call, langchain ${kind}`).catch(() => lossy.invoke(`own call, langchain ${kind}`)); // it repeats no lost connection
    return `${answer.text} ${lost.sent} ${lost.replayed}`;
  });
  await attempt(`langchain ${kind} structured`, async () => (await model.withStructuredOutput(z.object({ n: z.number() })).invoke("json")).n);
  await attempt(`langchain ${kind} failure`, async () => (await model.invoke("fail")).text);
}
