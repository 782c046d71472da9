import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AnthropicAws } from '@anthropic-ai/aws-sdk';
import { AnthropicBedrockMantle } from '@anthropic-ai/bedrock-sdk';
import { AnthropicFoundry } from '@anthropic-ai/foundry-sdk';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { GoogleGenAI } from '@google/genai';
import { AzureOpenAI, BedrockOpenAI } from 'openai';
import { isObject } from '../../../src/core/json/object.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';

/** The clients of the clouds' vendors as judges: Signalbox must send what they send. */
interface Recorded {
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string | null>>;
}

const HEADERS = [
  'authorization',
  'api-key',
  'x-api-key',
  'x-goog-api-key',
  'anthropic-version',
  'anthropic-workspace-id',
];
const recorded: Recorded[] = [];

const versionIn = (body: unknown): string | undefined =>
  isObject(body) && typeof body.anthropic_version === 'string' ? body.anthropic_version : undefined;

/** Records requests and refuses them: only the requests matter. */
const cloud = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    recorded.push({
      path: new URL(request.url).pathname,
      body: await request.json(),
      headers: Object.fromEntries(HEADERS.map((name) => [name, request.headers.get(name)])),
    });
    return Response.json({ error: { type: 'invalid_request_error', message: 'recorded' } }, { status: 400 });
  },
});
const host = `http://127.0.0.1:${cloud.port}`;
const folder = temporaryFolder();
const credentials = join(folder, 'credentials.yaml');
const TOKEN = `token-${crypto.randomUUID()}`;
const KEY = `key-${crypto.randomUUID()}`;

const figures = `
    price: { input: 1, output: 1 }
    context_window: 100000
    max_output: 4096
    quality: { default: 0.5 }`;
const model = (provider: string, upstream: string) =>
  `  ${provider}:\n    endpoints: [{ provider: ${provider}, upstream: "${upstream}" }]${figures}\n`;

let box: Signalbox;
beforeAll(async () => {
  writeFileSync(
    credentials,
    `credentials:\n  AZURE_TOKEN: { source: command, run: [echo, ${TOKEN}], hosts: ["127.0.0.1"] }\n`,
  );
  const settings = { 'aws-anthropic': 'settings: { workspace_id: wrkspc_1 }' };
  const upstreams = {
    'azure-openai': 'gpt-4.1',
    'azure-anthropic': 'claude-opus-4-8',
    'entra-openai': 'gpt-4.1',
    'entra-anthropic': 'claude-opus-4-8',
    'bedrock-openai': 'openai.gpt-oss-120b-1:0',
    'bedrock-anthropic': 'global.anthropic.claude-opus-4-8',
    'aws-anthropic': 'claude-opus-4-8',
    'vertex-gemini': 'gemini-2.5-flash',
    'vertex-anthropic': 'claude-opus-4-5@20251101',
  };
  const names = Object.keys(upstreams).filter((name) => !name.startsWith('entra-'));
  box = await startSignalbox({
    policy: `version: 1
providers:
${names.map((name) => `  ${name}: { preset: ${name}, ${Object.entries(settings).find(([key]) => key === name)?.[1] ?? ''} }\n`).join('')}  entra-openai: { preset: azure-openai, api_key_env: AZURE_TOKEN }
  entra-anthropic: { preset: azure-anthropic, api_key_env: AZURE_TOKEN }
models:
${Object.entries(upstreams)
  .map(([name, upstream]) => model(name, upstream))
  .join('')}`,
    args: ['--credentials', credentials],
    env: {
      AZURE_OPENAI_BASE_URL: host,
      AZURE_OPENAI_API_KEY: KEY,
      AZURE_ANTHROPIC_BASE_URL: host,
      AZURE_ANTHROPIC_API_KEY: KEY,
      BEDROCK_BASE_URL: host,
      AWS_BEARER_TOKEN_BEDROCK: KEY,
      ANTHROPIC_AWS_BASE_URL: host,
      ANTHROPIC_AWS_API_KEY: KEY,
      VERTEX_BASE_URL: `${host}/v1/projects/p/locations/global`,
      VERTEX_TOKEN: KEY,
    },
  });
});
afterEach(() => {
  recorded.length = 0;
});
afterAll(async () => {
  await box.stop();
  rmSync(folder, { recursive: true });
  await cloud.stop(true);
});

const messages = [{ role: 'user' as const, content: 'Hello' }];
const message = { max_tokens: 100, messages };
const chat = { max_completion_tokens: 100, messages };
const response = { input: 'Hello', max_output_tokens: 100, store: false };

const entra = async () => TOKEN;
const azure = () => new AzureOpenAI({ baseURL: `${host}/openai/v1`, apiKey: KEY, apiVersion: 'v1', maxRetries: 0 });
const bedrock = () => new BedrockOpenAI({ baseURL: `${host}/openai/v1`, apiKey: KEY, maxRetries: 0 });
const mantle = () => new AnthropicBedrockMantle({ baseURL: `${host}/anthropic`, apiKey: KEY, maxRetries: 0 });
const foundry = () => new AnthropicFoundry({ baseURL: `${host}/anthropic`, apiKey: KEY, maxRetries: 0 });
const aws = () => new AnthropicAws({ baseURL: host, apiKey: KEY, workspaceId: 'wrkspc_1', maxRetries: 0 });

/** Google's library of credentials, with a token that is there already. */
const authClient = { getRequestHeaders: async () => new Headers({ authorization: `Bearer ${KEY}` }), projectId: 'p' };
const vertex = () =>
  new AnthropicVertex({
    baseURL: `${host}/v1`,
    region: 'global',
    projectId: 'p',
    authClient: authClient as never,
    maxRetries: 0,
  });
const gemini = () =>
  new GoogleGenAI({
    vertexai: true,
    project: 'p',
    location: 'global',
    apiVersion: 'v1',
    googleAuthOptions: { authClient: authClient as never },
    httpOptions: { baseUrl: host },
  });
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];

const azureWithToken = () =>
  new AzureOpenAI({ baseURL: `${host}/openai/v1`, azureADTokenProvider: entra, apiVersion: 'v1', maxRetries: 0 });
const foundryWithToken = () =>
  new AnthropicFoundry({ baseURL: `${host}/anthropic`, azureADTokenProvider: entra, maxRetries: 0 });

test.each<[string, string, object, () => Promise<unknown>]>([
  ['azure-openai', '/v1/responses', response, async () => azure().responses.create({ model: 'gpt-4.1', ...response })],
  [
    'entra-openai',
    '/v1/responses',
    response,
    async () => azureWithToken().responses.create({ model: 'gpt-4.1', ...response }),
  ],
  [
    'entra-anthropic',
    '/v1/messages',
    message,
    async () => foundryWithToken().messages.create({ model: 'claude-opus-4-8', ...message }),
  ],
  [
    'azure-anthropic',
    '/v1/messages',
    message,
    async () => foundry().messages.create({ model: 'claude-opus-4-8', ...message }),
  ],
  [
    'bedrock-openai',
    '/v1/chat/completions',
    chat,
    async () => bedrock().chat.completions.create({ model: 'openai.gpt-oss-120b-1:0', ...chat }),
  ],
  [
    'bedrock-openai',
    '/v1/responses',
    response,
    async () => bedrock().responses.create({ model: 'openai.gpt-oss-120b-1:0', ...response }),
  ],
  [
    'bedrock-anthropic',
    '/v1/messages',
    message,
    async () => mantle().messages.create({ model: 'global.anthropic.claude-opus-4-8', ...message }),
  ],
  [
    'aws-anthropic',
    '/v1/messages',
    message,
    async () => aws().messages.create({ model: 'claude-opus-4-8', ...message }),
  ],
  [
    'vertex-gemini',
    '/v1beta/models/vertex-gemini:generateContent',
    { contents, generationConfig: { maxOutputTokens: 100 } },
    async () =>
      gemini().models.generateContent({ model: 'gemini-2.5-flash', contents, config: { maxOutputTokens: 100 } }),
  ],
  ...[false, true].map((stream): [string, string, object, () => Promise<unknown>] => [
    'vertex-anthropic',
    '/v1/messages',
    { ...message, ...(stream && { stream }) },
    async () => vertex().messages.create({ model: 'claude-opus-4-5@20251101', ...message, ...(stream && { stream }) }),
  ]),
])('a request to %s at %s is the request of its vendor’s client', async (name, path, body, call) => {
  await expect(call()).rejects.toThrow('recorded');
  const version = recorded[0]?.headers['anthropic-version'] ?? versionIn(recorded[0]?.body);
  await box.post(path, { model: name, ...body }, { headers: version ? { 'anthropic-version': version } : {} });
  const [theirs, ours] = recorded;
  expect(recorded).toHaveLength(2);
  expect(ours).toEqual(theirs);
});
