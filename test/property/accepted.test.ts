import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { HttpCall, ProviderCall } from '../../src/contract/provider.ts';
import { ChatRequest } from '../../src/core/api/chat-request.ts';
import type { GatewayPolicy } from '../../src/core/policy/snapshot.ts';
import type { ModelRequest } from '../../src/core/request/model-request.ts';
import { toRead } from '../../src/core/schema/nullable.ts';
import { compileCheck } from '../../src/core/schema/validation.ts';
import { checkChat, checkToolKinds } from '../../src/dialects/openai-chat/check.ts';
import { readChatRequest } from '../../src/dialects/openai-chat/reader.ts';
import { fitStops } from '../../src/gateway/exchange/stop-cut.ts';
import { checkRequest } from '../../src/gateway/request/check-request.ts';
import { anyRequest } from '../../src/tools/conformance/requests.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { READER } from '../support/chat-body.ts';
import type { WireRequest } from '../support/dialects/dialect.ts';
import { profile } from '../support/profile.ts';
import { MUTANTS } from './accepted-mutants.ts';
import { OF_OTHERS, STATE } from './accepted-state.ts';
import { abilities, answerTo, onTheWire, refusalOf, SUBJECTS, type Subject, traitsOf } from './accepted-subjects.ts';

/**
 * The law: for any request that the gateway accepts, an adapter makes a request that its provider accepts, unless the gateway says
 * beforehand what the provider lacks or which field it cannot express. The conversation can also continue: whatever the answer is, and
 * however much of it the client keeps, the provider accepts the next request, too.
 */
const { runs, seed, proved } = effort('accepted', 20, 40_000);

const check = compileCheck(ChatRequest);
const withoutNulls = toRead(ChatRequest);
const LIMITS = { messagesMax: 2_048, toolsMax: 256, allowPrivateImageUrls: false } as GatewayPolicy;

/** Whether the gateway itself accepts a request. */
function isTaken(request: ChatRequest): boolean {
  check(request);
  try {
    checkToolKinds(request);
    checkChat(request);
    checkRequest(readChatRequest(request), LIMITS);
    return true;
  } catch {
    return false;
  }
}

/** A refusal begins with the path of the field that it is about. */
const FIELD = /^(?:messages|tools|stop|response_format|seed|n|max_completion_tokens)(?:\[\d+\]|\.\w+)* /;

/** What happened to a request. */
type Fate = 'lacking' | 'refused' | 'taken';

interface Sent {
  readonly fate: Fate;
  readonly wire?: WireRequest;
}

/** Removes the stop sequences that the provider does not accept, because the gateway applies them itself. */
function fitted(capabilities: number, { adapter }: Subject, call: ProviderCall): ProviderCall {
  return { ...call, request: fitStops(call.request, { capabilities }, adapter).request };
}

function send(subject: Subject, asked: ProviderCall): Sent {
  const can = abilities(subject, asked);
  if (profile(asked.request, READER).needs & ~can) return { fate: 'lacking' };
  const call = fitted(can, subject, asked);
  const made: HttpCall | object = subject.adapter.request(call);
  if ('kind' in made) {
    expect<object>(made).toEqual({ kind: 'rejected', message: expect.stringMatching(FIELD) });
    return { fate: 'refused' };
  }
  const wire = onTheWire(subject, made as HttpCall);
  const refusal = refusalOf(subject, wire);
  if (refusal !== null) throw new Error(`refused by the provider: ${refusal}\n${wire.text}`);
  return { fate: 'taken', wire };
}

/** A request, and the model that it is for. */
const anyCall = (subject: Subject): fc.Arbitrary<ProviderCall> =>
  fc
    .record({
      request: anyRequest(subject.isOpenAi ? OF_OTHERS : STATE[subject.dialect]).filter(
        // OpenAI gets an unknown effort unchanged, and refuses it.
        (request) =>
          isTaken(request) && !(subject.isOpenAi && ['often', ''].includes(request.reasoning_effort ?? 'none')),
      ),
      upstream: fc.constantFrom(...subject.upstreams),
      reasons: fc.boolean(),
      acceptsTemperature: fc.boolean(),
      outputCap: fc.constantFrom(1, 500, 3_000, 30_000),
      extras: fc.constantFrom({}, {}, ...(subject.extras ?? [])),
    })
    .map(({ request, upstream, reasons, acceptsTemperature, outputCap, extras }) => ({
      upstream,
      request: readChatRequest(withoutNulls(request)),
      extras,
      stream: request.stream === true,
      outputCap,
      model: traitsOf(subject.isOpenAi ?? reasons, !subject.isOpenAi && acceptsTemperature),
    }));

/** The provider accepts every request that is sent. @param saw is called with what happened to each request */
const isAlwaysTaken = (subject: Subject, saw: (fate: Fate) => void) =>
  fc.property(anyCall(subject), (call) => {
    saw(send(subject, call).fate);
  });

/** How a conversation continues: the answer, the part of it that the client keeps, and the model that gets the next request. */
interface Round {
  readonly reasoning: string | undefined;
  readonly text: string;
  /** Called tools, by index. */
  readonly calls: readonly number[];
  /** False: the client keeps only members that OpenAI's own API has. */
  readonly keepsAll: boolean;
  readonly next: string;
}

const anyRound = ({ upstreams }: Subject): fc.Arbitrary<Round> =>
  fc.record({
    reasoning: fc.constantFrom(undefined, 'Let me think.', 'Hm'),
    text: fc.constantFrom('', 'I will look it up.', ' Well '),
    calls: fc.array(fc.nat({ max: 9 }), { maxLength: 3 }),
    keepsAll: fc.boolean(),
    next: fc.oneof(fc.constant(''), fc.constantFrom(...upstreams)),
  });

const messagesOf = (request: ModelRequest) => request.conversation.turns.map(({ at }) => request.originalAt(at));

function goOn(subject: Subject, call: ProviderCall, wire: WireRequest, round: Round): ProviderCall {
  const { request } = call;
  const tools = request.conversation.toolChoice === 'none' ? [] : request.conversation.tools;
  const toolCalls = tools.length === 0 ? [] : round.calls.map((at) => tools[at % tools.length]!.name);
  const behaviour = {
    reasoning: round.reasoning,
    text: round.text,
    toolCalls: toolCalls.map((name) => ({ name, arguments: '{"city":"Bern"}' })),
  };
  const answer = answerTo(subject, wire, behaviour);
  const { role, content, tool_calls: made } = answer;
  const kept = round.keepsAll
    ? answer
    : { role, content, tool_calls: made?.map(({ id, type, function: of }) => ({ id, type, function: of })) };
  const results = (made ?? []).map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: '20 °C' }));
  const next = results.length > 0 ? results : [{ role: 'user' as const, content: 'And tomorrow?' }];
  return {
    ...call,
    upstream: round.next || call.upstream,
    request: request.edit([{ at: ['messages'], value: [...messagesOf(request), kept, ...next] }]),
  };
}

/** The provider also accepts the next request of a conversation. @param saw is called for each accepted request */
const goesOn = (subject: Subject, saw: () => void) =>
  fc.property(anyCall(subject), fc.array(anyRound(subject), { minLength: 1, maxLength: 3 }), (first, rounds) => {
    let call = first;
    for (const round of rounds) {
      const { fate, wire } = send(subject, call);
      if (call !== first) expect(fate).not.toBe('refused');
      if (!wire) return;
      saw();
      call = goOn(subject, call, wire, round);
    }
  });

/** What happened to the requests, by subject. The test reports the shares once all laws hold. */
const shares: string[] = [];
let continued = 0;

const HOW = { numRuns: runs, seed, includeErrorInReport: true } as const;

describe('every request that the gateway sends is accepted by', () => {
  for (const subject of SUBJECTS) {
    test(subject.name, () => {
      const fates: Record<Fate, number> = { lacking: 0, refused: 0, taken: 0 };
      fc.assert(
        isAlwaysTaken(subject, (fate) => fates[fate]++),
        HOW,
      );
      const { lacking, refused, taken } = fates;
      const share = (count: number) => `${Math.round((100 * count) / runs)} %`;
      const line = `${subject.name} ${share(taken)}, lacking ${share(lacking)}, unsayable ${share(refused)}`;
      console.log(line);
      // With few runs, the shares vary.
      expect(taken).toBeGreaterThan((isDeep ? 0.4 : 0.15) * runs);
      expect(refused).toBeLessThan((isDeep ? 0.3 : 0.6) * runs);
      shares.push(line);
    });
  }
});

describe('a conversation can continue with', () => {
  for (const subject of SUBJECTS) {
    test(subject.name, () => {
      let count = 0;
      fc.assert(
        goesOn(subject, () => count++),
        HOW,
      );
      expect(count).toBeGreaterThan(0.5 * runs);
      continued += count;
    });
  }
});

describe('the laws detect an adapter that', () => {
  for (const [of, name, mutant] of MUTANTS) {
    test(`${name} (${of})`, () => {
      // Some mutants can be found only with a rare request. A mutant that is not found in this many runs counts as undetected.
      const laws = [goesOn(mutant, () => {}), isAlwaysTaken(mutant, () => {})];
      const isFound = (numRuns: number) =>
        laws.some((law) => fc.check<unknown[]>(law, { numRuns, seed, endOnFailure: true }).failed);
      // The test begins with few runs of both laws, because most mutants break one of the laws soon.
      expect(isFound(500) || isFound(25_000)).toBe(true);
    });
  }
});

test('all results are reported', () => {
  expect(shares).toHaveLength(SUBJECTS.length);
  proved(
    `any request that the gateway accepts is accepted by its provider or refused beforehand with its field: ${shares.join('; ')}; ${continued} requests of conversations that continued`,
  );
});
