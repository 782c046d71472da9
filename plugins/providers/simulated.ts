import { defineProvider, type Pause, type ProviderCall, type StreamPart, Type } from 'signalbox/plugin';
import { type Answer, answerOf } from './simulated/answer.ts';
import { estimateUsage, fitTokens } from './simulated/tokens.ts';

/** Characters of one streamed piece: about a token. */
const PIECE = 4;

/**
 * Models that answer in this process, without a provider: for a first try, for demonstrations and
 * for tests. The same request always gets the same answer, at the pace that the catalog states.
 */
export const simulated = defineProvider({
  name: 'simulated',
  status: 'stable',
  settings: Type.Object(
    {},
    { additionalProperties: false, description: 'Answers in this process, offline: for a first try and for tests.' },
  ),
  prepare: () => ({ kind: 'in-process', answer: play, dropped }),
});

/** What a real model would heed and a made-up answer cannot. */
const UNHEEDED = [
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'stop',
  'seed',
  'logit_bias',
  'reasoning_effort',
] as const;

const dropped = ({ request }: ProviderCall): readonly string[] => UNHEEDED.filter((name) => request[name] != null);

interface Voice {
  readonly answer: Answer;
  readonly text: string;
  readonly cut: boolean;
  at: number;
}

/** All choices speak at once, a piece each in turn, as a provider's would. */
function* play(call: ProviderCall): Generator<StreamPart | Pause> {
  const voices = Array.from({ length: call.request.n ?? 1 }, (_, choice) => voice(call, choice));
  yield { type: 'pause', ms: call.model.ttftMs };
  for (const [choice, { answer }] of voices.entries()) {
    const { tool } = answer;
    if (tool) yield { type: 'tool-call', choice, index: 0, id: tool.id, name: tool.name, arguments: '' };
  }
  const pieceMs = 1_000 / call.model.outputTokensPerSecond;
  while (voices.some((each) => each.at < each.text.length)) {
    yield { type: 'pause', ms: pieceMs };
    for (const [choice, each] of voices.entries()) {
      if (each.at < each.text.length) yield nextPiece(each, choice);
    }
  }
  for (const [choice, each] of voices.entries()) {
    const reason = each.cut ? 'length' : each.answer.tool ? 'tool_calls' : 'stop';
    yield { type: 'finish', choice, reason, raw: reason };
  }
  yield {
    type: 'usage',
    usage: estimateUsage(
      call,
      voices.map((each) => each.text),
    ),
  };
}

function voice(call: ProviderCall, choice: number): Voice {
  const answer = answerOf(call, choice);
  const text = fitTokens(answer.text, call.outputCap);
  return { answer, text, cut: text.length < answer.text.length, at: 0 };
}

function nextPiece(voice: Voice, choice: number): StreamPart {
  let end = voice.at + PIECE;
  // Half of a surrogate pair is no text.
  if (/[\uD800-\uDBFF]/.test(voice.text.charAt(end - 1))) end++;
  const text = voice.text.slice(voice.at, end);
  voice.at = end;
  return voice.answer.tool ? { type: 'tool-call', choice, index: 0, arguments: text } : { type: 'text', choice, text };
}
