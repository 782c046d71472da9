import { FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai';
import { check, EMPTY_KEY, expect, FAULTY_KEY, FAULTY_URL, failureOf, KEY, UNCOUNTED_KEY, URL } from './checks.mjs';

const clientOf = (baseUrl, apiKey) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl } });
const client = clientOf(URL, KEY);
const faulty = clientOf(FAULTY_URL, FAULTY_KEY);
const contents = 'Say hello.';

const seen = ({ usageMetadata: { promptTokenCount: input, totalTokenCount: total } }) => ({
  input,
  output: total - input,
});

async function streamed(stream) {
  let text = '';
  let last;
  for await (const chunk of await stream) {
    text += chunk.text ?? '';
    last = chunk;
  }
  return { text, last };
}

await check('generate', async () => {
  const answer = await client.models.generateContent({ model: 'auto', contents });
  expect(answer.text.includes('simulated'), answer);
  return [seen(answer)];
});

await check('stream with usage', async () => {
  const { text, last } = await streamed(client.models.generateContentStream({ model: 'auto', contents }));
  expect(text.includes('simulated'), text);
  return [seen(last)];
});

await check('chat with streams and history', async () => {
  const talk = client.chats.create({ model: 'auto' });
  const first = await streamed(talk.sendMessageStream({ message: contents }));
  const second = await talk.sendMessage({ message: 'Say it again.' });
  expect(talk.getHistory(true).length > 3, talk.getHistory(true));
  return [seen(first.last), seen(second)];
});

await check('tool loop with a forced call', async () => {
  const parameters = { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] };
  const tools = [{ functionDeclarations: [{ name: 'weather', description: 'The weather of a city', parameters }] }];
  const toolConfig = {
    functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['weather'] },
  };
  const question = { role: 'user', parts: [{ text: 'What is the weather in Bern?' }] };
  const first = await client.models.generateContent({
    model: 'auto',
    contents: [question],
    config: { tools, toolConfig },
  });
  const [{ id, name }] = first.functionCalls;
  const result = { functionResponse: { id, name, response: { output: '12 °C' } } };
  const turns = [question, first.candidates[0].content, { role: 'user', parts: [result] }];
  const second = await client.models.generateContent({ model: 'auto', contents: turns, config: { tools } });
  expect(second.text.includes('12 °C'), second);
  return [seen(first), seen(second)];
});

await check('structured output', async () => {
  const responseJsonSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const config = { responseMimeType: 'application/json', responseJsonSchema };
  const answer = await client.models.generateContent({ model: 'auto', contents: 'Describe Bern.', config });
  expect(typeof JSON.parse(answer.text).name === 'string', answer.text);
  return [seen(answer)];
});

await check('count, models and embeddings', async () => {
  expect((await client.models.countTokens({ model: 'auto', contents })).totalTokens > 0);
  const names = [];
  for await (const { name } of await client.models.list({ config: { pageSize: 3 } })) names.push(name);
  expect(names.includes('models/auto') && names.includes('models/sim-large'), names);
  const embedded = await clientOf(URL, UNCOUNTED_KEY).models.embedContent({
    model: 'sim-embed',
    contents: ['one', 'two'],
  });
  expect(embedded.embeddings.length === 2, embedded);
});

await check('errors', async () => {
  const statusOf = async (other, model = 'auto') =>
    (await failureOf(() => other.models.generateContent({ model, contents }))).status;
  const statuses = [
    await statusOf(clientOf(URL, 'sb_live_wrong')),
    await statusOf(client, 'no-such-model'),
    await statusOf(clientOf(URL, EMPTY_KEY)),
    await statusOf(faulty, 'too-long'),
    await statusOf(faulty, 'rate-limited'),
    await statusOf(faulty, 'broken'),
  ];
  expect(statuses.join() === '401,404,402,400,429,502', statuses);
});

await check('cut stream', async () => {
  let text = '';
  await failureOf(async () => {
    for await (const chunk of await faulty.models.generateContentStream({ model: 'cut', contents }))
      text += chunk.text ?? '';
  });
  expect(text.startsWith('One'), text);
});
