import {
  type AbortBilling,
  type Capability,
  defineProvider,
  type ModelSettings,
  type Pause,
  type ProviderCall,
  type StreamPart,
  statedUsd,
  Type,
} from 'signalbox/plugin';
import { answerOf, type SimulatedAnswer } from './simulated/answer.ts';
import { embed } from './simulated/embeddings.ts';
import { estimateUsage, fitTokens } from './simulated/tokens.ts';

/** The number of characters of a streamed piece, which is about one token. */
const PIECE = 4;

/** The simulator writes an answer piece by piece, and only while the caller reads the answer. */
const STOPS: AbortBilling = { bills: 'stops', reports: 'each', marginTokens: 16, marginMs: 100 };

/**
 * Models that answer in this process, without a provider: for a first try, demonstrations and tests. Simulated answers are deterministic,
 * and arrive at the speed that the catalog states.
 */
export const simulated = defineProvider({
  contract: 2,
  name: 'simulated',
  status: 'stable',
  settings: Type.Object(
    {
      stated_cost: Type.Optional(
        Type.Number({
          minimum: 0,
          examples: [0.0012],
          description:
            'The cost in USD that each answer states, as some providers do, for tests of the comparison with charges. Default: answers state none.',
        }),
      ),
    },
    { additionalProperties: false, description: 'Answers in this process, offline: for a first try and for tests.' },
  ),
  prepare: ({ stated_cost: cost }) => ({
    kind: 'in-process',
    answer: (call) => play(call, cost === undefined ? undefined : statedUsd([cost])),
    embed,
    dropped,
    lacks: () => ['stop'],
    passes: () => PASSED,
    // Every tier, at the same speed. Its answers state the tier, so that the price of the tier is charged.
    serviceTiers: { takes: (tier) => tier !== 'auto' },
    afterAbort: STOPS,
  }),
});

/** The simulator ignores fields that only one dialect has, and answers a completion like a question. */
const PASSED: readonly Capability[] = ['anthropic_messages', 'openai_responses', 'completions', 'suffix'];

/** Fields that a simulated answer ignores. */
const IGNORED = [
  'temperature',
  'topP',
  'frequencyPenalty',
  'presencePenalty',
  'seed',
  'logitBias',
  'reasoningEffort',
] as const satisfies readonly (keyof ModelSettings)[];

const dropped = ({ request: { settings, names } }: ProviderCall): readonly string[] =>
  IGNORED.flatMap((name) => (settings[name] === undefined ? [] : [names[name]]));

/** The text of a choice, and how much of it was streamed. */
interface ChoicePlayback {
  readonly answer: SimulatedAnswer;
  readonly text: string;
  readonly cut: boolean;
  at: number;
}

/** Streams all choices in parallel, a piece of each in turn, as a provider would. @param cost the cost that the answer states, in USD */
function* play(call: ProviderCall, cost: string | undefined): Generator<StreamPart | Pause> {
  const playbacks = Array.from({ length: call.request.settings.choices ?? 1 }, (_, choice) => playback(call, choice));
  const { serviceTier } = call;
  yield { type: 'pause', ms: call.model.ttftMs };
  for (const [choice, { answer }] of playbacks.entries()) {
    const { tool } = answer;
    if (tool) yield { type: 'tool-call', choice, index: 0, id: tool.id, name: tool.name, arguments: '' };
  }
  const usage = estimateUsage(
    call,
    playbacks.map((each) => each.text),
  );
  const length = playbacks.reduce((sum, each) => sum + each.text.length, 0);
  const pieceMs = 1_000 / call.model.outputTokensPerSecond;
  while (playbacks.some((each) => each.at < each.text.length)) {
    yield { type: 'pause', ms: pieceMs };
    for (const [choice, each] of playbacks.entries()) {
      if (each.at < each.text.length) yield nextPiece(each, choice);
    }
    // Like some providers, the simulator reports the usage with each event. If an answer ends early, its last reported usage decides the
    // price.
    const written = playbacks.reduce((sum, each) => sum + Math.min(each.at, each.text.length), 0);
    const outputTokens = Math.ceil((usage.outputTokens * written) / length);
    yield { type: 'usage', usage: { ...usage, outputTokens }, serviceTier };
  }
  for (const [choice, each] of playbacks.entries()) {
    const reason = each.cut ? 'length' : each.answer.tool ? 'tool_calls' : 'stop';
    yield { type: 'finish', choice, reason, raw: reason };
  }
  yield { type: 'usage', usage, cost, serviceTier };
}

function playback(call: ProviderCall, choice: number): ChoicePlayback {
  const answer = answerOf(call, choice);
  const text = fitTokens(answer.text, call.outputCap);
  return { answer, text, cut: text.length < answer.text.length, at: 0 };
}

function nextPiece(playback: ChoicePlayback, choice: number): StreamPart {
  let end = playback.at + PIECE;
  // A piece of the answer must not split a surrogate pair.
  if (/[\uD800-\uDBFF]/.test(playback.text.charAt(end - 1))) end++;
  const text = playback.text.slice(playback.at, end);
  playback.at = end;
  return playback.answer.tool
    ? { type: 'tool-call', choice, index: 0, arguments: text }
    : { type: 'text', choice, text };
}
