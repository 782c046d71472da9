import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { isObject, parseJson } from '../../core/object.ts';
import { SchemaCheck } from '../../core/schema-check.ts';
import { messageOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import { visible } from '../../core/visible.ts';
import type { Body } from '../../operate/policy/tools.ts';
import { outbound } from '../../outbound/outbound.ts';
import { camelKeys } from '../../policy/camel-keys.ts';
import { scrub } from '../../telemetry/secrets.ts';
import type { CommandResult } from '../result.ts';
import { paragraphs } from '../terminal.ts';
import { jsonText } from '../text.ts';
import type { PolicyCommand } from './command.ts';
import { legend } from './explain-result.ts';
import { type CertificateRow, certificateText } from './explain-text.ts';
import { leftOutBriefly } from './setting-text.ts';

/** The variable with the key of the request to the server. */
const KEY_VARIABLE = 'SIGNALBOX_KEY';
/** The longest wait for the answer, ms; an exact count of tokens takes some seconds. */
const WAIT_MS = 30_000;
/** The largest answer that is read: a catalog of thousands of models. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

const ServedCandidate = Type.Object({
  model: Type.String(),
  rank: nullable(Type.Number()),
  quality: nullable(Type.Number()),
  counted_quality: Type.Number(),
  cost_credits: Type.Number(),
  latency_ms: Type.Number(),
  latency_basis: Type.Union([
    Type.Literal('measured'),
    Type.Literal('stated'),
    Type.Literal('estimated'),
    Type.Literal('neutral'),
  ]),
  utility: nullable(Type.Number()),
  parts: Type.Record(Type.String(), Type.Number()),
  rejections: Type.Array(
    Type.Object({
      text: Type.String(),
      rules: Type.Array(Type.Object({ file: Type.String(), line: Type.Number() })),
    }),
  ),
});

/** The parts of the answer of `POST /admin/policy/explain` that are printed. */
const ServedExplanation = Type.Object({
  choice: nullable(Type.String()),
  shortage: nullable(Type.String()),
  explanation: Type.Array(Type.String()),
  candidates: Type.Array(ServedCandidate),
  first_hold_credits: nullable(Type.Number()),
  task_note: nullable(Type.String()),
  failed_rules: Type.Array(Type.Object({ name: Type.String(), error: Type.String() })),
  left_out_here: Type.Array(Type.String()),
  usd_per_credit: Type.String(),
});
type ServedExplanation = Static<typeof ServedExplanation>;
const check = new SchemaCheck(ServedExplanation);

/** A question to a running server. */
export interface ServedQuestion {
  /** The address of the server. */
  readonly url: string;
  readonly request: Body;
  /** ID of the key that the request comes from. */
  readonly key: string | undefined;
  /** ISO 8601. */
  readonly time: string | undefined;
  readonly json: boolean;
}

/**
 * `signalbox policy explain --url`: the decision of a running server, by its policy, readings and estimates. Throws UsageError, also
 * for an answer other than 200.
 */
export async function runExplainServed(
  { url, request, key, time, json }: ServedQuestion,
  { judge, terminal }: PolicyCommand,
): Promise<CommandResult> {
  const answer = await ask(url, JSON.stringify({ request, key, time }), judge.env.get(KEY_VARIABLE)?.trim());
  if (!check.accepts(answer)) {
    throw new UsageError(`${url} answered in another form. It may not be Signalbox, or be an earlier version.`);
  }
  const code = answer.choice === null || answer.shortage !== null ? 2 : 0;
  return { text: json ? jsonText(answer) : explanationText(answer, terminal), code };
}

function explanationText(answer: ServedExplanation, terminal: boolean): string {
  const { explanation, candidates, task_note: note, failed_rules: failed, left_out_here: missing } = answer;
  const { first_hold_credits: held, shortage, usd_per_credit: usdPerCredit } = answer;
  const lines = [
    ...(note === null ? [] : [note]),
    ...explanation,
    ...(shortage === null ? [] : [`The request is refused with ${shortage}.`]),
    ...(held === null ? [] : [`The first hold is ${held} Credits.`]),
    ...failed.map(({ name, error }) => `The condition of ${name} failed, so it counts as true: ${error}.`),
    ...(missing.length > 0 ? [`${leftOutBriefly(missing)}.`] : []),
    ...(candidates.some(({ rank }) => rank !== null) ? [legend({ usdPerCredit })] : []),
    'The server decided by its own policy, measurements and learned estimates.',
  ];
  return `${certificateText({ candidates: candidates.map(rowOf) }, terminal)}\n${paragraphs(lines.map(visible), terminal)}`;
}

const rowOf = ({ rejections, ...figures }: Static<typeof ServedCandidate>): CertificateRow => ({
  ...camelKeys(figures),
  model: visible(figures.model),
  rejections: rejections.map(({ text, rules }) => ({ text, rules: rules.map((place) => ({ place })) })),
});

/** Sends the question. Throws UsageError for any answer but 200. */
async function ask(url: string, body: string, key: string | undefined): Promise<unknown> {
  const base = URL.parse(url);
  if (base === null || !/^https?:$/.test(base.protocol) || base.username !== '' || base.password !== '') {
    throw new UsageError('--url takes the address of a server, such as http://127.0.0.1:8787.');
  }
  if (!key)
    throw new UsageError(`--url needs a key. Set ${KEY_VARIABLE} to a key with the scope \`admin\` or \`report\`.`);
  base.pathname = `${base.pathname.replace(/\/+$/, '')}/admin/policy/explain`;
  base.search = '';
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const limits = { allowPrivate: true, timeoutMs: WAIT_MS, bytesMax: ANSWER_BYTES_MAX };
  const reply = await outbound({ url: base.href, method: 'POST', headers, body, ...limits }).catch((cause: unknown) => {
    throw new UsageError(`No answer from ${base.origin}: ${messageOf(cause)}.`);
  });
  const answer = parseJson(reply.text);
  if (reply.status === 200) return answer;
  throw new UsageError(scrub(`${base.origin} answered ${reply.status}${reasonIn(answer)}`));
}

/** `: The key is not valid.` from the body of an error; a full stop where there is none. */
function reasonIn(answer: unknown): string {
  const error = isObject(answer) ? answer.error : null;
  return isObject(error) && typeof error.message === 'string' ? `: ${error.message}` : '.';
}
