import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { platform } from '../../src/core/decision/platform.ts';
import { plainUsage } from '../../src/core/money/usage.ts';
import type { CachePartition } from '../../src/core/policy/cache.ts';
import { AnswerCache } from '../../src/gateway/cache/answer-cache.ts';
import { cacheNames, type NamedFacts, type NamedFor, partitionOf } from '../../src/gateway/cache/cache-name.ts';
import { AnswerTurns } from '../../src/gateway/exchange/answer-turns.ts';
import { batchLine, endLine } from '../../src/gateway/exchange/replayed-answer.ts';
import { arrived } from '../../src/providers/arrival.ts';
import { openStore } from '../../src/store/open.ts';
import { tries } from '../deep/effort.ts';
import { tempFolder } from '../store/support.ts';
import { layStore } from '../support/empty-store.ts';
import { chatRequest } from '../support/model-request.ts';

/**
 * The law: a caller finds an answer only if it was stored for an equal request of its own partition, and, in a wider partition, of a caller
 * with equal rights.
 */
interface Sender {
  readonly keyId: string;
  readonly secret: string;
  readonly team: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly facts: NamedFacts;
  readonly question: string;
  readonly revision: string;
}

const NO_RULES = { constraints: [], preferences: [] };
const some = <T>(...values: readonly T[]) => fc.constantFrom(...values);

const members = {
  key: some('a', 'b', 'c'),
  team: some(undefined, 't', 'u'),
  labels: some<Readonly<Record<string, string>>>({}, { tier: 'free' }, { tier: 'paid' }),
  allowedModels: some(null, ['x'], ['x', 'y'], ['y', 'x']),
  deniedModels: some(undefined, ['x']),
  rules: some(NO_RULES, { constraints: [0], preferences: [] }, { constraints: [], preferences: [0] }),
  guards: some(undefined, { pii: 1 }),
  question: some('Hello', 'hello'),
  revision: some('one', 'two'),
};
type Members = {
  readonly [Name in keyof typeof members]: (typeof members)[Name] extends fc.Arbitrary<infer T> ? T : never;
};

const senderOf = ({ key, allowedModels, deniedModels, rules, guards, ...others }: Members): Sender => ({
  ...others,
  keyId: key,
  secret: `secret of ${key}`,
  facts: { allowedModels, rules, ...(deniedModels && { deniedModels }), ...(guards && { guards }) },
});

/** Two senders that differ in at most two members. */
const pairs = fc
  .tuple(fc.record(members), fc.record(members), fc.subarray(Object.keys(members), { maxLength: 2 }))
  .map(([one, other, changed]): [Sender, Sender] => [
    senderOf(one),
    senderOf({ ...one, ...Object.fromEntries(Object.entries(other).filter(([name]) => changed.includes(name))) }),
  ]);

/** The rule in plain words, without hashes. */
function maySee(partition: CachePartition, one: Sender, other: Sender): boolean {
  const own = (sender: Sender) => [sender.question, sender.revision, sender.facts.rules, sender.facts.guards];
  const isEqual = Bun.deepEquals(own(one), own(other));
  if (partition === 'key') return isEqual && one.keyId === other.keyId;
  const rights = ({ labels, facts }: Sender) => [labels, facts.allowedModels?.toSorted(), facts.deniedModels];
  const isTeam = partition === 'everyone' || (one.team !== undefined && one.team === other.team);
  return isEqual && isTeam && Bun.deepEquals(rights(one), rights(other));
}

type Naming = typeof cacheNames;

function nameOf(naming: Naming, kind: CachePartition, sender: Sender): string | null {
  const partition = partitionOf(kind, sender);
  if (partition === null) return null;
  const { labels, facts, revision, secret, question } = sender;
  const request = chatRequest({ messages: [{ role: 'user', content: question }] });
  const of: NamedFor = { caller: { labels }, partition, snapshot: { revision } };
  const { names, seal } = naming(request, facts, of, kind === 'key' ? secret : `server ${partition}`);
  return `${names[0]!.toHex()} ${Buffer.from(seal.verifier).toString('hex')}`;
}

const law = (naming: Naming, run: string, few: number) => {
  const found = fc.check(
    fc.property(some<CachePartition>('key', 'team', 'everyone'), pairs, (partition, [one, other]) => {
      const [first, second] = [nameOf(naming, partition, one), nameOf(naming, partition, other)];
      return (first !== null && first === second) === maySee(partition, one, other);
    }),
    tries(run, few, few * 20),
  );
  return found.failed;
};

/** Names that forget a part of what must be equal. */
const MUTANTS: Readonly<Record<string, Naming>> = {
  labels: (request, facts, of, secret) => cacheNames(request, facts, { ...of, caller: { labels: {} } }, secret),
  'lists of models': (request, facts, of, secret) =>
    cacheNames(request, { ...facts, allowedModels: null, deniedModels: [] }, of, secret),
  rules: (request, facts, of, secret) => cacheNames(request, { ...facts, rules: NO_RULES }, of, secret),
  matches: (request, { guards: _, ...facts }, of, secret) => cacheNames(request, facts, of, secret),
  revisions: (request, facts, of, secret) => cacheNames(request, facts, { ...of, snapshot: { revision: '' } }, secret),
  partitions: (request, facts, of) => cacheNames(request, facts, { ...of, partition: 'everyone' }, 'one secret'),
  questions: (_, facts, of, secret) => cacheNames(chatRequest(), facts, of, secret),
};

describe('the name of an answer', () => {
  test('is equal for two callers exactly if the one may see the answer of the other', () => {
    expect(law(cacheNames, 'partitions of the cache', 2_000)).toBeFalse();
  });

  test.each(Object.entries(MUTANTS))('the law finds names that forget the %s', (name, mutant) => {
    expect(law(mutant, `cache names without ${name}`, 5_000)).toBeTrue();
  });
});

const TENANTS = 2_000;

test(`no one of ${TENANTS} tenants gets the answer of another to the same question`, async () => {
  using folder = tempFolder();
  await layStore(folder.file);
  const store = await openStore(folder.file, { mode: 'serve' });
  const cache = new AnswerCache({
    ...{ store, turns: new AnswerTurns(), secret: new Uint8Array(32), now: () => 1_000, onError: () => {} },
  });
  const request = chatRequest({ messages: [{ role: 'user', content: 'What is my balance?' }], temperature: 0 });
  const of = (at: number) => ({ keyId: `key${at}`, secret: `secret ${at}` });
  const namesOf = (keyId: string, secret: string) => {
    const partition = partitionOf('key', { keyId })!;
    const facts = { allowedModels: null, rules: NO_RULES };
    return cacheNames(request, facts, { caller: { labels: {} }, partition, snapshot: { revision: 'r' } }, secret);
  };
  for (let at = 0; at < TENANTS; at++) {
    const { keyId, secret } = of(at);
    const { names, seal } = namesOf(keyId, secret);
    const text = batchLine([{ type: 'text', choice: 0, text: `balance of ${at}` }]) + END;
    cache.keep(names[0]!, { decision: at, text }, seal, { keyId }, LIMITS, { days: 1 });
  }
  await store.flush();
  for (let at = 0; at < TENANTS; at++) {
    const other = of((at * 7 + 1) % TENANTS);
    const { keyId, secret } = of(at);
    const own = namesOf(keyId, secret);
    const [found] = await cache.find(own.names, own.seal, () => true);
    const parts = await arrived(() => found!.source.read());
    expect([found?.decision, parts]).toEqual([at, [{ type: 'text', choice: 0, text: `balance of ${at}` }]]);
    // The key of another tenant with a forged secret, and the name of another tenant with the own secret.
    const forged = namesOf(other.keyId, secret);
    const strange = namesOf(other.keyId, other.secret);
    expect(await cache.find(forged.names, forged.seal, () => true)).toEqual([null]);
    expect(await cache.find(strange.names, own.seal, () => true)).toEqual([null]);
  }
  await store.close();
});

/** The methods of an answer, which its text does not need. */
const NO_ANSWER = { error: null, open: async () => {}, read: () => null, abandon: () => {} };
const LIMITS = { bytesMax: 1_073_741_824, ttlMs: 60_000 };
const RECEIPT = { usage: plainUsage(1, 1), platform: { ...platform, dropped: [] }, saved: 0 };
const END = endLine({ ...NO_ANSWER, decision: 1, created: 1, model: 'best', receipt: RECEIPT }, null);
