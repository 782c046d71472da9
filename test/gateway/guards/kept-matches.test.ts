import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { personalData } from '../../../plugins/guards/personal-data.ts';
import type { GuardRule } from '../../../src/core/policy/guards.ts';
import type { AnswerRoute } from '../../../src/dialects/surface.ts';
import { SURFACES } from '../../../src/dialects/surfaces.ts';
import { guardInput } from '../../../src/gateway/guards/guard-input.ts';
import type { RunningGuard } from '../../../src/gateway/guards/guard-runtime.ts';
import { KeptMatches } from '../../../src/gateway/guards/kept-matches.ts';
import { Placeholders } from '../../../src/gateway/guards/placeholders.ts';
import { Verdicts } from '../../../src/gateway/guards/verdicts.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { AT_ONCE } from '../../../src/host/turns.ts';
import { KeptConversations } from '../../../src/http/kit/kept-conversations.ts';
import { answerOf } from '../../support/answers.ts';
import { keptBy } from '../../support/kept-conversations.ts';
import { type LivePolicy, startLivePolicy } from '../../support/live-policy.ts';
import { testPolicy } from '../../support/policies.ts';
import { readPage, total } from '../../support/prometheus.ts';
import { readOn } from '../../support/read-request.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { EMAIL } from './support.ts';

const RULE: GuardRule = {
  ...{ name: 'pii', place: { file: '', line: 1, column: 1 }, plugin: 'personal-data', settings: {}, isPure: true },
  ...{ window: 'message', when: null, on: ['input'], onMatch: 'mask', onFailure: 'block', deadlineMs: 60_000 },
  ...{ buffersWhole: false, unmask: [], refuse: [] },
};

/** A guard of a policy that was loaded, and the number of windows that it has inspected. */
function loaded(rule: Partial<GuardRule> = {}) {
  const prepared = personalData.prepare({ kinds: ['email'], countries: [] });
  const count = { windows: 0 };
  const check: typeof prepared.check = (window) => {
    count.windows++;
    return prepared.check(window);
  };
  const guards: readonly RunningGuard[] = [{ rule: { ...RULE, ...rule }, prepared: { ...prepared, check } }];
  return { guards, count };
}

const bodyOf = (texts: readonly string[]) =>
  JSON.stringify({ model: 'm', messages: texts.map((content) => ({ role: 'user', content })) });

const CHAT_ROUTE = SURFACES.find(({ name }) => name === 'openai-chat')!.routes.find(
  (one): one is AnswerRoute => one.kind === 'answer' && one.operation === 'chat',
)!;

/** Carries out one turn, and returns the JSON of the guarded body. */
function turn(
  conversations: KeptConversations,
  guards: readonly RunningGuard[],
  texts: readonly string[],
  keyId = 'a',
) {
  const reading = { keyId, generation: 0, bytesMax: 1e9, valuesMax: 1e6 };
  const text = bodyOf(texts);
  const body = conversations.read(Buffer.from(text), reading) ?? JSON.parse(text);
  const { request } = readOn(CHAT_ROUTE, body);
  const context = {
    verdicts: new Verdicts(),
    placeholders: new Placeholders(() => Buffer.from(keyId)),
    timers: processTimers,
    turns: AT_ONCE,
    clock: () => 0,
    kept: KeptMatches.of(request, guards),
    signal: () => undefined,
    onFailure: () => {},
  };
  const guarded = guardInput(request, guards, context);
  if (guarded instanceof Promise) throw new Error('the guard is pure');
  return JSON.stringify(guarded.original.body);
}

const opened = () => new KeptConversations(() => 0, processTimers);
const TEXTS = Array.from({ length: 20 }, (_, at) => `Message ${at} of ${EMAIL}.`);

describe('the matches in a running conversation', () => {
  test('are kept from the second turn on, so that a later turn inspects its new messages and the names', () => {
    const { guards, count } = loaded();
    const conversations = opened();
    const inspected = [18, 19, 20].map((size) => {
      const before = count.windows;
      turn(conversations, guards, TEXTS.slice(0, size));
      return count.windows - before;
    });
    // A masked message is inspected twice.
    expect(inspected[1]).toBeGreaterThan(2 * 19);
    expect(inspected[2]).toBe(2);
  });

  test.each([
    ['another loading of the policy', () => loaded(), 'a'],
    ['another key', null, 'b'],
  ])('are not used by %s', (_, load, keyId) => {
    const first = loaded();
    const conversations = opened();
    for (let at = 0; at < 3; at++) turn(conversations, first.guards, TEXTS);
    const next = load ? load() : first;
    const before = next.count.windows;
    turn(conversations, next.guards, TEXTS, keyId);
    expect(next.count.windows - before).toBeGreaterThan(TEXTS.length);
  });

  test.each<[string, Partial<GuardRule>]>([
    ['is not pure', { isPure: false }],
    ['calls a service', { service: { url: 'http://127.0.0.1:1', apiKeyEnv: null, allowPrivate: true } }],
    ['needs the whole request', { window: 'all' }],
  ])('are not kept for a guard that %s', (_, rule) => {
    const { guards, count } = loaded({ ...rule, onMatch: 'flag' });
    const conversations = opened();
    turn(conversations, guards, TEXTS);
    const first = count.windows;
    for (let at = 0; at < 3; at++) turn(conversations, guards, TEXTS);
    expect(count.windows).toBe(4 * first);
  });

  test('count in the memory of the conversation, and end with it', () => {
    const without = opened();
    const conversations = opened();
    const { guards } = loaded();
    const sizes = [18, 19, 20].map((size) => {
      turn(without, [], TEXTS.slice(0, size));
      turn(conversations, guards, TEXTS.slice(0, size));
      return conversations.bytes - without.bytes;
    });
    expect(sizes[0]).toBe(0);
    expect(sizes[1]).toBeGreaterThan(19 * 1_000);
    // The same message is counted once.
    expect(sizes[2]! - sizes[1]!).toBeWithin(1, sizes[1]! / 10);
    // An edited message loses its verdicts, and gets others.
    const edited = TEXTS.map((text, at) => (at === 4 ? 'Nothing.' : text));
    turn(without, [], edited);
    turn(conversations, guards, edited);
    expect(conversations.bytes - without.bytes).toBeLessThan(sizes[2]!);
    // Other guards replace the verdicts.
    for (let at = 0; at < 5; at++) turn(conversations, loaded().guards, edited);
    expect(conversations.bytes - without.bytes).toBeLessThan(1.1 * sizes[2]!);
    conversations.clear();
    expect(conversations.bytes).toBe(0);
  });

  test('never exceed the bound of kept conversations', () => {
    const { guards } = loaded();
    const bytesMax = 200_000;
    const conversations = opened();
    const read = conversations.read.bind(conversations);
    conversations.read = (bytes, reading) => read(bytes, { ...reading, bytesMax });
    for (let task = 0; task < 10; task++) {
      const texts = [`Task ${task}`, ...TEXTS];
      for (let size = 10; size < texts.length; size++) {
        turn(conversations, guards, texts.slice(0, size));
        expect(conversations.bytes).toBeLessThanOrEqual(bytesMax);
      }
    }
    expect(conversations.size).toBeGreaterThan(0);
  });
});

// The same through HTTP: one server keeps conversations, the other reads each body whole.

const GUARDS = (word: string) => `guards:
  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on_match: mask }
  - { name: words, guard: words, settings: { deny: [${word}] }, on_match: flag }
  - { name: keys, guard: secrets, on_match: block }
`;
const LONG_TEXT = 'The file has no error. '.repeat(300);

describe('a server that keeps conversations', () => {
  const upstream = useUpstream();
  const policyOf = (word: string, more: string) =>
    testPolicy(
      { fake: { url: upstream.url, adapter: 'openai' } },
      { best: { endpoints: ['fake'], price: { input: 4, output: 16 } } },
      `${GUARDS(word)}gateway: { retries_max: 0${more} }\n`,
    );
  const servers: LivePolicy[] = [];
  const MORE = ['', ', turns_bytes_max: 0'];
  beforeAll(async () => {
    for (const more of MORE) servers.push(await startLivePolicy({ 'p.yaml': policyOf('falcon', more) }));
  });
  afterAll(() => Promise.all(servers.map((server) => server.stop())));
  const denyWord = async (word: string) => {
    for (const [at, server] of servers.entries()) {
      const { revision } = await server.status();
      server.replace('p.yaml', policyOf(word, MORE[at]!));
      await server.changedFrom(revision);
    }
  };

  /** Returns what a provider, a caller and an operator see, with numbers in place of placeholders. */
  async function seenIn(box: Signalbox, path: string, body: object) {
    const before = upstream.requests.length;
    const answer = await box.post(path, body);
    const { error } = Object(await answerOf(answer));
    const id = answer.headers.get('x-signalbox-decision-id');
    const { outcome, facts } = id ? Object(await (await box.get(`/v1/decisions/${id}`)).json()) : {};
    const names = new Map<string, number>();
    const numbered = (text: string) =>
      text.replaceAll(/\[email:[a-p]{12}\]/g, (name) => `[${names.getOrInsert(name, names.size)}]`);
    const page = readPage(await (await fetch(`${box.url}/metrics`)).text());
    return {
      status: answer.status,
      error: error && { ...error, request_id: null },
      sent: upstream.requests.slice(before).map(({ text }) => numbered(text)),
      guards: outcome?.guards,
      facts,
      matches: total(page, 'signalbox_guard_matches_total'),
    };
  }

  test.each(['/v1/chat/completions', '/v1/responses', '/v1/messages'])(
    'forwards, records and counts the same as a server that inspects everything: %s',
    async (path) => {
      const [keepingBox, plainBox] = [servers[0]!.box, servers[1]!.box];
      const list = path === '/v1/responses' ? 'input' : 'messages';
      const messages: object[] = [{ role: 'user', content: `I am ${EMAIL}, and the falcon flies. ${LONG_TEXT}` }];
      const next = async (...added: object[]) => {
        messages.push(...added);
        const body = { model: 'best', [list]: messages, ...(path === '/v1/messages' && { max_tokens: 50 }) };
        const [keeping, plain] = [await seenIn(keepingBox, path, body), await seenIn(plainBox, path, body)];
        expect(keeping).toEqual(plain);
        return keeping;
      };
      const assistant = (content: string) => ({ role: 'assistant', content });
      const user = (content: string) => ({ role: 'user', content });
      for (let at = 0; at < 4; at++) {
        const { sent } = await next(
          assistant(`Step ${at}, falcon.`),
          user(at % 2 ? `Ask b${at}@example.com.` : 'Go on.'),
        );
        expect(sent.join().includes(EMAIL)).toBeFalse();
        expect(sent.join()).toContain('[0]');
      }
      messages[3] = assistant('Another step.');
      await next(assistant('Done.'), user('Thanks.'));
      const { status } = await next(assistant('Yes?'), user('My key is AKIAIOSFODNN7EXAMPL3, password = Tr0ub4dor9x.'));
      expect(status).toBe(400);
      messages.pop();
      await denyWord('heron');
      const { guards } = await next(user('A heron.'));
      expect(guards).toContainEqual(expect.objectContaining({ guard: 'words', matches: { word: 1 } }));
      await denyWord('falcon');
      expect(await keptBy(keepingBox)).toBeGreaterThan(0);
    },
  );
});
