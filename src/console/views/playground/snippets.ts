import { DIALECTS, type Dialect, type RequestBody } from './body.ts';

/** Quotes any text as one word of a shell command. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * A shell command that sends a body.
 * @param origin of the gateway, with the path prefix of a proxy
 */
export const curlOf = (origin: string, dialect: Dialect, body: RequestBody): string =>
  [
    `curl${body.stream === true ? ' --no-buffer' : ''} ${quoted(origin + DIALECTS[dialect].path)}`,
    '-H "authorization: Bearer $SIGNALBOX_KEY"',
    "-H 'content-type: application/json'",
    `--data-raw ${quoted(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n  ');

const KEY = 'process.env.SIGNALBOX_KEY';

const CALLS: Readonly<Record<Dialect, { readonly call: string; readonly text: string; readonly delta: string }>> = {
  chat: {
    call: 'chat.completions.create',
    text: 'answer.choices[0].message.content',
    delta: "event.choices[0]?.delta?.content ?? ''",
  },
  messages: {
    call: 'messages.create',
    text: 'answer.content',
    delta: "event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : ''",
  },
  responses: {
    call: 'responses.create',
    text: 'answer.output_text',
    delta: "event.type === 'response.output_text.delta' ? event.delta : ''",
  },
  embeddings: { call: 'embeddings.create', text: 'answer.data[0].embedding', delta: "''" },
};

/** A program that sends a body with the client library of its dialect. JSON is valid JavaScript, so the body is inserted unchanged. */
export function sdkOf(origin: string, dialect: Dialect, body: RequestBody): string {
  const { call, text, delta } = CALLS[dialect];
  const at = JSON.stringify(dialect === 'messages' ? origin : `${origin}/v1`);
  const client =
    dialect === 'messages'
      ? `import Anthropic from '@anthropic-ai/sdk';\n\nconst client = new Anthropic({ baseURL: ${at}, apiKey: null, authToken: ${KEY} });`
      : `import OpenAI from 'openai';\n\nconst client = new OpenAI({ baseURL: ${at}, apiKey: ${KEY} });`;
  const end =
    body.stream === true
      ? `for await (const event of answer) process.stdout.write(${delta});`
      : `console.log(${text});`;
  return `${client}\nconst answer = await client.${call}(${JSON.stringify(body, null, 2)});\n${end}\n`;
}
