import OpenAI from 'openai';
import { type LivePolicy, startLivePolicy } from '../../support/live-policy.ts';
import { allOrNothing, testPolicy } from '../../support/policies.ts';
import { capOf, type Gate, type GateAnswers, startGate } from './gate.ts';
import { type MadeKey, makeKeys } from './keys.ts';

/** 10 bytes of text: at most 42 tokens, including the tokens that dialects add around it. */
export const hello = [{ role: 'user', content: 'Say hello.' }];

/** A server with two models, a policy folder to edit, and an upstream that reports the usage that a test chooses. */
export interface Purse {
  readonly live: LivePolicy;
  readonly gate: Gate;
  readonly answers: GateAnswers;
  key(labels: Readonly<Record<string, string>>): Promise<MadeKey>;
  chat(key: MadeKey, body?: object, init?: RequestInit): Promise<Response>;
  route(key: MadeKey, body?: object): Promise<Response>;
  /** Spends this many worst cases of 0.442 Credits on `best`. */
  spend(key: MadeKey, times: number): Promise<void>;
  /** Replaces the budgets, each a line of YAML, and waits until they apply. */
  budgets(...lines: string[]): Promise<void>;
  stop(): Promise<void>;
}

/** Reports the prompt and the output of the worst case. */
export const asWorst: GateAnswers['usageOf'] = (request) => tokens(42, capOf(request));

export const tokens = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});

/** A budget without an action rejects requests. */
const itemOf = (line: string) => (line.includes('on_exhausted') ? line : `${line}, on_exhausted: reject`);

const section = (lines: readonly string[]) =>
  `budgets:${lines.length === 0 ? ' []' : ''}\n${lines.map((line) => `  - { ${itemOf(line)} }\n`).join('')}`;

/** `best` costs 0.001 Credits for a token of input and 0.004 for a token of output, `plain` a tenth of that. */
export function pursePolicy(url: string, waitMs: number): string {
  const vision = (text: string) =>
    allOrNothing(text).replaceAll('[tools, json_schema]', '[tools, json_schema, vision]');
  return vision(
    testPolicy(
      { up: url },
      {
        best: { endpoints: ['up'], quality: 0.9 },
        plain: { endpoints: ['up'], price: { input: 0.1, output: 0.4 }, quality: 0.5 },
      },
      `ledger: { contention_wait_ms: ${waitMs} }\n`,
    ),
  );
}

export async function startPurse(waitMs: number, ...lines: string[]): Promise<Purse> {
  const answers: GateAnswers = { usageOf: asWorst };
  const gate = startGate(answers);
  gate.open();
  const live = await startLivePolicy({ 'base.yaml': pursePolicy(gate.url, waitMs), 'budgets.yaml': section(lines) });
  const { box } = live;
  const withKey = ({ key }: MadeKey, init: RequestInit = {}) => ({
    ...init,
    headers: { authorization: `Bearer ${key}` },
  });
  const purse: Purse = {
    live,
    gate,
    answers,
    key: async (labels) => (await makeKeys(box, [labels]))[0]!,
    chat: (key, body = {}, init = {}) =>
      box.post(
        '/v1/chat/completions',
        { model: 'auto', messages: hello, max_tokens: 100, ...body },
        withKey(key, init),
      ),
    route: (key, body = {}) => box.post('/v1/route', { model: 'auto', messages: hello, ...body }, withKey(key)),
    async spend(key, times) {
      for (let i = 0; i < times; i++) {
        const response = await purse.chat(key, { model: 'best' });
        if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
      }
    },
    async budgets(...edited) {
      live.write('budgets.yaml', section(edited));
      const response = await live.reload();
      if (response.status !== 200) throw new Error(`not reloaded: ${await response.text()}`);
    },
    async stop() {
      await live.stop();
      await gate.stop();
    },
  };
  return purse;
}

/**
 * Sends a request with OpenAI’s own client, which retries as it is told. Returns the client's answer or error, and each status that the
 * client received.
 */
export async function askOpenAI(
  purse: Purse,
  { key }: MadeKey,
): Promise<{ readonly answered: unknown; readonly statuses: number[] }> {
  const statuses: number[] = [];
  const watched = async (url: string | URL | Request, init?: RequestInit) => {
    const response = await fetch(url, init);
    statuses.push(response.status);
    return response;
  };
  const client = new OpenAI({ apiKey: key, baseURL: `${purse.live.box.url}/v1`, maxRetries: 3, fetch: watched });
  const asked = client.chat.completions.create({
    model: 'best',
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: 100,
  });
  return { answered: await asked.catch((thrown: unknown) => thrown), statuses };
}
