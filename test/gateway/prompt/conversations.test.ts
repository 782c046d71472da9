import { expect, test } from 'bun:test';
import type { PolicySnapshot } from '../../../src/core/policy/snapshot.ts';
import type { EscalationTerms } from '../../../src/core/request/escalation.ts';
import type { Facts } from '../../../src/core/request/facts.ts';
import { Affinity } from '../../../src/gateway/prompt/affinity.ts';
import { Conversations, isRead } from '../../../src/gateway/prompt/conversations.ts';
import { CONVERSATION_MS } from '../../../src/store/conversations.ts';
import { StoreError } from '../../../src/store/store.ts';
import { facts } from '../../routing/build.ts';
import { openInMemory, type TestedStore } from '../../store/implementations.ts';
import { chatRequest } from '../../support/model-request.ts';

const MINUTE_MS = 60_000;
const ALL: EscalationTerms = {
  on: ['low_score', 'repeated_request', 'correction'],
  secondAttempt: true,
  turns: 2,
  shareMax: null,
};
const TIERED: Facts = { ...facts(), tier: { name: 'usual', hard: 0 } };
const ESCALATED: Facts = { ...TIERED, escalation: { signal: 'correction', turnsAgo: 0 } };

/** A server over a store, which all its servers share with the secret of the database. */
function serverOver(store: TestedStore, clock: { now: number }, terms = ALL) {
  const defer = (write: Parameters<TestedStore['append']>[0][number]) => store.append([write]);
  const { conversations, commit } = store;
  const own = new Conversations({ conversations, commit: commit.bind(store), defer }, () => clock.now);
  const affinity = new Affinity(() => clock.now);
  const snapshot = { escalate: terms } as Pick<PolicySnapshot, 'escalate'>;
  const historyOf = (texts: readonly string[], keyId = 'k', more: object = {}) =>
    affinity.history(
      keyId,
      chatRequest({
        messages: texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content })),
        ...more,
      }),
    );
  const read = (texts: readonly string[], given = TIERED, keyId = 'k', more: object = {}) =>
    own.read(given, historyOf(texts, keyId, more), snapshot);
  return {
    own,
    read,
    answer: (texts: readonly string[], keyId = 'k', more: object = {}) =>
      own.noteAnswer(read(texts, TIERED, keyId, more), historyOf(texts, keyId, more), snapshot),
    sent: (texts: readonly string[]) => own.noteSent(read(texts), 'k'),
    admit: async (texts: readonly string[], isServed = true) =>
      own.admit(read(texts, ESCALATED), 'k', snapshot, isServed),
    lowScore: (texts: readonly string[]) => own.lowScore({ facts: read(texts) }, 'k', 0, snapshot),
  };
}

const clockOf = () => ({ now: 10 * CONVERSATION_MS });

test('a request is repeated only within five minutes after its answer, and only with the same question and key', async () => {
  await using store = await openInMemory();
  const clock = clockOf();
  const { answer, read } = serverOver(store, clock);
  answer(['hi', 'Hello.', 'What is 2 + 2?']);
  const signalOf = (...given: Parameters<typeof read>) => read(...given).escalation?.signal;
  expect(signalOf(['hi', 'Hello.', 'What is 2 + 2?'])).toBe('repeated_request');
  expect(signalOf(['hi', 'Hello.', 'What is 2 + 3?'])).toBeUndefined();
  expect(signalOf(['hi', 'Hello!', 'What is 2 + 2?'])).toBeUndefined();
  expect(signalOf(['hi', 'Hello.', 'What is 2 + 2?'], TIERED, 'other')).toBeUndefined();
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
  expect(signalOf(['hi', 'Hello.', 'What is 2 + 2?'], TIERED, 'k', { tools })).toBeUndefined();
  clock.now += 5 * MINUTE_MS - 1;
  expect(signalOf(['hi', 'Hello.', 'What is 2 + 2?'])).toBe('repeated_request');
  clock.now += 1;
  expect(signalOf(['hi', 'Hello.', 'What is 2 + 2?'])).toBeUndefined();
});

test('a signal ends after the stated number of answers, and when the conversation has had no answer for an hour', async () => {
  await using store = await openInMemory();
  const clock = clockOf();
  const { answer, read, sent } = serverOver(store, clock);
  answer(['hi']);
  sent(['hi']);
  const agoAfter = (answers: number) => {
    const texts = ['hi', ...Array.from({ length: answers }, (_, at) => ['Yes.', `And ${at}?`]).flat()];
    return read(texts).escalation?.turnsAgo;
  };
  expect([0, 1, 2].map(agoAfter)).toEqual([0, 1, undefined]);
  clock.now += CONVERSATION_MS - 1;
  expect(agoAfter(1)).toBe(1);
  clock.now += 1;
  expect(agoAfter(1)).toBeUndefined();
});

test('a later signal of the transcript counts instead, and a request without a tier has no conversation', async () => {
  await using store = await openInMemory();
  const { answer, read, sent } = serverOver(store, clockOf());
  answer(['hi']);
  sent(['hi']);
  expect(read(['hi', 'Hello.', 'That is wrong'], ESCALATED).escalation).toEqual({ signal: 'correction', turnsAgo: 0 });
  expect(read(['hi'], facts())).toEqual(facts());
});

test('another server reads signals and answers from the store, and so does the same server after a restart', async () => {
  await using store = await openInMemory();
  const clock = clockOf();
  const [one, other] = [serverOver(store, clock), serverOver(store, clock)];
  one.answer(['hi']);
  await store.written();
  expect(other.read(['hi']).escalation).toBeUndefined();
  await other.own.pull();
  expect(other.read(['hi']).escalation).toEqual({ signal: 'repeated_request', turnsAgo: 0 });
  const score = one.lowScore(['hi', 'Hello.', 'So?'])!;
  await store.commit([one.own.signalWrite(score)]);
  clock.now += MINUTE_MS;
  await other.own.pull();
  const again = serverOver(store, clock);
  await again.own.pull();
  for (const server of [other, again])
    expect(server.read(['hi', 'Hello.', 'So?', 'No.', 'Why?']).escalation).toEqual({
      signal: 'low_score',
      turnsAgo: 0,
    });
});

test('a conversation that is escalated at one server is escalated at another that has not heard of it', async () => {
  await using store = await openInMemory();
  const clock = clockOf();
  const terms = { ...ALL, shareMax: 0 };
  const [one, other] = [serverOver(store, clock, terms), serverOver(store, clock, terms)];
  expect((await one.admit(['first'])).escalation).toBeDefined();
  expect((await other.admit(['first'])).escalation).toBeDefined();
  for (const server of [one, other])
    expect(await server.admit(['second'])).toMatchObject({
      unescalated: { signal: 'correction', turnsAgo: 0, share: { escalated: 1, conversations: 1 } },
    });
  clock.now += CONVERSATION_MS;
  expect((await other.admit(['second'])).escalation).toBeDefined();
  expect((await one.admit(['first'])).escalation, 'it has ended').toBeUndefined();
});

test('a recommendation takes no place', async () => {
  await using store = await openInMemory();
  const { admit } = serverOver(store, clockOf(), { ...ALL, shareMax: 0 });
  expect((await admit(['first'], false)).escalation).toBeDefined();
  expect((await admit(['second'])).escalation).toBeDefined();
  expect((await admit(['first'], false)).escalation).toBeUndefined();
});

test('if the store does not answer, a conversation without a place is not escalated, and the request goes on', async () => {
  await using store = await openInMemory();
  const failing = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== 'conversations') return typeof value === 'function' ? value.bind(target) : value;
      return { ...store.conversations, place: () => Promise.reject(new StoreError('away', { reason: 'busy' })) };
    },
  });
  const { admit } = serverOver(failing, clockOf(), { ...ALL, shareMax: 1 / 2 });
  expect(await admit(['first'])).toMatchObject({ unescalated: { signal: 'correction', share: null } });
});

test('a step of an agent is stored at most every five minutes, and a request without signals calls no store', async () => {
  await using store = await openInMemory();
  const clock = clockOf();
  let calls = 0;
  const counting = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === 'append' || name === 'commit') calls++;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const { answer, read } = serverOver(counting, clock, { ...ALL, on: ['correction'], shareMax: 0.2 });
  const before = calls;
  for (let step = 0; step < 10; step++) {
    answer(['hi']);
    clock.now += MINUTE_MS;
  }
  expect(calls - before).toBe(2);
  read(['hi']);
  expect(calls - before).toBe(2);
});

test('servers follow the conversations of others only if a selector orders its models and the policy counts signals', () => {
  const ladder = { order: [0, 1] };
  const isReadWith = (escalate: EscalationTerms, ...selectors: readonly object[]) =>
    isRead({
      escalate,
      selectors: new Map(selectors.map((selector, at) => [`auto${at}`, selector])),
    } as unknown as PolicySnapshot);
  expect(isReadWith(ALL, {}, { ladder })).toBe(true);
  expect(isReadWith(ALL, {})).toBe(false);
  expect(isReadWith({ ...ALL, on: [] }, { ladder })).toBe(false);
});
