import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { OPERATOR } from '../../../src/core/people/caller.ts';
import type { EscalationSignal } from '../../../src/core/request/escalation.ts';
import { AnswerCheck } from '../../../src/gateway/exchange/answer-check.ts';
import { EVERY_VARIABLE } from '../../policy/shipped.ts';
import { shippedPolicy } from '../../policy/support.ts';
import { type ChatBody, chatFacts } from '../../support/chat-body.ts';
import { chatRequest } from '../../support/model-request.ts';
import { loaded } from '../build.ts';
import brokenSchema from './broken-schema.json' with { type: 'json' };
import emptyAnswer from './empty-answer.json' with { type: 'json' };
import malformedCall from './malformed-call.json' with { type: 'json' };
import refusedAnswer from './refused-answer.json' with { type: 'json' };
import stuckAgent from './stuck-agent.json' with { type: 'json' };
import stuckAgent2 from './stuck-agent-2.json' with { type: 'json' };
import stuckAgent3 from './stuck-agent-3.json' with { type: 'json' };
import stuckAgent4 from './stuck-agent-4.json' with { type: 'json' };
import unknownFunction from './unknown-function.json' with { type: 'json' };
import waiting from './waiting.json' with { type: 'json' };

/**
 * Transcripts that a person calls a failure, and transcripts that only look like one. The first ones were written before the code that reads
 * them was read, `stuck-agent-2` and `stuck-agent-3` after a change of this code each. `stuck-agent-4` was not used
 * to choose the rules: do not tune anything on it.
 */
export const KEPT_ASIDE = 'stuck-agent-4';
const closed = { additionalProperties: false } as const;
const Answer = Type.Object(
  {
    assistant: Type.Union([Type.String(), Type.Null()]),
    finish: Type.Optional(Type.Union([Type.Literal('stop'), Type.Literal('length'), Type.Literal('content_filter')])),
    refusal: Type.Optional(Type.String()),
  },
  closed,
);
const Call = Type.Object(
  {
    call: Type.String(),
    /** A text stands for arguments exactly as the model wrote them. */
    arguments: Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())]),
    result: Type.String(),
    /** How many times the model makes the call and gets the result, one after the other. */
    times: Type.Optional(Type.Integer({ minimum: 2 })),
  },
  closed,
);
const Step = Type.Union([Type.Object({ user: Type.String() }, closed), Answer, Call]);
type Step = Static<typeof Step>;

const Transcript = Type.Object(
  {
    name: Type.String(),
    client: Type.String(),
    fails: Type.Boolean(),
    response_format: Type.Optional(Type.Unsafe<ChatBody['response_format']>(Type.Object({}))),
    steps: Type.Array(Step, { minItems: 1 }),
  },
  closed,
);
const File = Type.Object(
  {
    signal: Type.Union([
      Type.Literal('stuck_agent'),
      Type.Literal('malformed_call'),
      Type.Literal('broken_schema'),
      Type.Literal('refused_answer'),
      Type.Literal('empty_answer'),
    ]),
    /** The functions that the requests offer, with their parameters. By default, the called functions with any parameters. */
    functions: Type.Optional(Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()))),
    transcripts: Type.Array(Transcript),
  },
  closed,
);

export interface Transcript extends Static<typeof Transcript> {
  readonly signal: EscalationSignal;
  readonly functions: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const calledFunctions = (steps: readonly Step[]) =>
  Object.fromEntries(steps.flatMap((step) => ('call' in step ? [[step.call, { type: 'object' }]] : [])));

/** The transcripts of each file. */
export const TRANSCRIPTS: Readonly<Record<string, readonly Transcript[]>> = Object.fromEntries(
  Object.entries({
    'stuck-agent': stuckAgent,
    waiting,
    'stuck-agent-2': stuckAgent2,
    'stuck-agent-3': stuckAgent3,
    [KEPT_ASIDE]: stuckAgent4,
    'malformed-call': malformedCall,
    'unknown-function': unknownFunction,
    'broken-schema': brokenSchema,
    'refused-answer': refusedAnswer,
    'empty-answer': emptyAnswer,
  }).map(([name, file]) => {
    const { signal, functions, transcripts } = Value.Decode(File, file);
    return [name, transcripts.map((one) => ({ ...one, signal, functions: functions ?? calledFunctions(one.steps) }))];
  }),
);

type Message = ChatBody['messages'][number];
/** An answer of the model, as the gateway reads it, with the messages before it. */
interface ReadAnswer {
  readonly before: readonly Message[];
  readonly parts: readonly StreamPart[];
}

const argumentsText = ({ arguments: given }: Static<typeof Call>): string =>
  typeof given === 'string' ? given : JSON.stringify(given);

const textParts = ({ assistant, refusal, finish = 'stop' }: Static<typeof Answer>): StreamPart[] => [
  ...(assistant ? [{ type: 'text', choice: 0, text: assistant } as const] : []),
  ...(refusal ? [{ type: 'refusal', choice: 0, text: refusal } as const] : []),
  { type: 'finish', choice: 0, reason: finish, raw: finish },
];

const callParts = (step: Static<typeof Call>): StreamPart[] => [
  { type: 'tool-call', choice: 0, index: 0, id: 'call', name: step.call, arguments: argumentsText(step) },
  { type: 'finish', choice: 0, reason: 'tool_calls', raw: 'tool_calls' },
];

/** Returns the conversations of the requests that a client sends one after the other, and the answers to them. */
function playOut({ steps }: Transcript): {
  readonly requests: readonly Message[][];
  readonly answers: readonly ReadAnswer[];
} {
  const messages: Message[] = [];
  const requests: Message[][] = [];
  const answers: ReadAnswer[] = [];
  for (const step of steps) {
    if ('user' in step) messages.push({ role: 'user', content: step.user });
    else if ('assistant' in step) {
      answers.push({ before: [...messages], parts: textParts(step) });
      messages.push({ role: 'assistant', content: step.assistant, ...(step.refusal && { refusal: step.refusal }) });
      continue;
    } else {
      for (let time = 0; time < (step.times ?? 1); time++) {
        const id = `call_${messages.length}`;
        const call = { id, type: 'function', function: { name: step.call, arguments: argumentsText(step) } } as const;
        answers.push({ before: [...messages], parts: callParts(step) });
        messages.push({ role: 'assistant', content: null, tool_calls: [call] });
        messages.push({ role: 'tool', tool_call_id: id, content: step.result });
        requests.push([...messages]);
      }
      continue;
    }
    requests.push([...messages]);
  }
  // The next request shows the last answer.
  if (messages.at(-1)?.role === 'assistant') requests.push([...messages, { role: 'user', content: 'Go on.' }]);
  return { requests, answers };
}

const SNAPSHOT = loaded(shippedPolicy(), EVERY_VARIABLE);

/** Whether Signalbox takes a transcript as a person does: `missed` and `false_alarm` are its mistakes. */
export type Verdict = 'hit' | 'missed' | 'quiet' | 'false_alarm';

/**
 * Reads a transcript with the signals that count by default: the messages of each request, and each answer itself. A failure is found if its
 * last request or its last answer shows the signal. Any signal in any request of another transcript is a false alarm.
 */
export function verdictOf(transcript: Transcript): Verdict {
  const { functions, response_format, signal, fails } = transcript;
  const tools = Object.entries(functions).map(([name, parameters]) => ({
    type: 'function' as const,
    function: { name, parameters },
  }));
  const bodyOf = (messages: readonly Message[]): ChatBody => ({
    model: 'auto',
    messages: [...messages],
    ...(tools.length > 0 && { tools }),
    ...(response_format && { response_format }),
  });
  const { requests, answers } = playOut(transcript);
  const ofAnswers = answers.map(({ before, parts }) => {
    const check = new AnswerCheck(chatRequest(bodyOf(before)), SNAPSHOT.escalate.on);
    check.add(parts);
    return check.signal();
  });
  const ofRequests = requests.map((messages) => chatFacts(bodyOf(messages), OPERATOR, SNAPSHOT).escalation?.signal);
  if (fails) return ofRequests.at(-1) === signal || ofAnswers.at(-1) === signal ? 'hit' : 'missed';
  return [...ofRequests, ...ofAnswers].some((one) => one) ? 'false_alarm' : 'quiet';
}

export interface Figures {
  readonly failures: number;
  readonly found: number;
  readonly others: number;
  readonly falseAlarms: number;
}

/** Counts what Signalbox finds in transcripts. */
export function figuresOf(transcripts: readonly Transcript[]): Figures {
  const verdicts = transcripts.map(verdictOf);
  const count = (...names: readonly Verdict[]) => verdicts.filter((one) => names.includes(one)).length;
  return {
    failures: count('hit', 'missed'),
    found: count('hit'),
    others: count('quiet', 'false_alarm'),
    falseAlarms: count('false_alarm'),
  };
}
