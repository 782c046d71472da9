import type { RefusalRecord } from '../../../core/decision/refusal.ts';
import { parseId } from '../../../core/id.ts';
import { isObject } from '../../../core/json/object.ts';
import { type Caller, rootOf } from '../../../core/people/caller.ts';
import { isPlainName } from '../../../core/text/plain-name.ts';
import { visible } from '../../../core/text/visible.ts';
import { SECRET, scrubName } from '../../../host/telemetry/secrets.ts';
import { textsIn, withoutTexts } from '../../exchange/upstream-message.ts';
import { redact } from '../../records/redact.ts';
import type { RefusalLog } from '../../records/refusal-log.ts';
import type { RequestContext } from '../request-context.ts';
import type { DeniedKey } from '../request-facts.ts';
import type { RequestReporter } from './observer.ts';

/** The most characters of a model's name, and of the message of an error. */
const MODEL_MAX = 128;
const REASON_MAX = 300;
/** Characters that are read beyond the limit and then discarded, so that redaction recognizes a secret that the limit would cut. */
const MARGIN = 512;

interface RefusalSink {
  readonly refusals: Pick<RefusalLog, 'add'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Whether the policy has a model, selector or alias with this name. */
  readonly isModelName: (name: string) => boolean;
  /** The names of the dialects, by the path of their route. */
  readonly dialects: ReadonlyMap<string, string>;
}

/** Returns a reporter that records the answers with a status from 400 up that have no decision record. */
export function recordRefusals({ refusals, now, ...names }: RefusalSink): RequestReporter {
  return (request) => {
    if (request.answer.status < 400 || !isRecorded(request)) return;
    refusals.add(refusalOf(request, now(), names), rootOf(request.caller ?? request.client.denied?.caller ?? UNKNOWN));
  };
}

/**
 * Whether an answer leaves a refusal. A decision has its own record, unless the answer repeats a stored answer. Of callers without a key,
 * only those with an unknown key are counted. A key that no longer works is known if the request has its right secret. A person in the console is no caller.
 */
function isRecorded({ client, work, answer }: RequestContext): boolean {
  if (client.isSignedIn || work.decisionId !== null) return false;
  const known = client.caller ?? client.denied?.caller;
  return known ? known.keyId !== '' : answer.code === 'invalid_api_key';
}

const UNKNOWN: Pick<Caller, 'keyId' | 'labels' | 'team' | 'user'> = { keyId: '', labels: {} };

function refusalOf(
  request: RequestContext,
  time: number,
  { isModelName, dialects }: Pick<RefusalSink, 'isModelName' | 'dialects'>,
): RefusalRecord {
  const { method, route, operation } = request;
  const { status, code } = request.answer;
  const named = modelIn(request);
  const safe = safeName(named);
  const model = isModelName(named) || isPlainName(safe) ? safe : SECRET;
  const { keyId, labels, team = null, user = null } = request.caller ?? request.client.denied?.caller ?? UNKNOWN;
  return {
    id: request.requestNumber,
    time,
    keyId,
    team,
    user,
    labels,
    session: request.work.run.session,
    operation,
    model,
    code,
    reason: deniedFor(request) ?? reasonOf(request, model === SECRET ? named : ''),
    status,
    dialect: dialectAt(route, dialects),
    method,
    route,
    answers: 1,
    ...request.work.guards?.recorded,
    decision: parseId('dec_', request.decisionId ?? String(request.answer.error?.info.details?.decision_id)),
  };
}

function dialectAt(route: string, dialects: RefusalSink['dialects']): string | null {
  const exact = dialects.get(route);
  if (exact !== undefined) return exact;
  for (const [path, name] of dialects) if (route.startsWith(`${path}/`)) return name;
  return null;
}

/** The pattern of a route whose path names a model, such as `/v1beta/models/{model}:generateContent` or `/v1/models/*`. */
const MODEL_ROUTE = /^(\S*\/models\/)(?:\{\w+\}|\*)(.*)$/;

/** Returns the model that the path of a request names; '' for none. */
function modelInPath({ route, url }: RequestContext): string {
  const [, before = '', after = ''] = MODEL_ROUTE.exec(route) ?? [];
  if (before === '' || !URL.canParse(url)) return '';
  const { pathname } = new URL(url);
  // Google's names of models may begin with `models/`.
  return decoded(pathname.slice(before.length, pathname.length - after.length)).replace(/^models\//, '');
}

/** Returns the model that a request names, as it wrote it; '' for none. */
function modelIn(request: RequestContext): string {
  const { value } = request.body;
  const inBody = isObject(value) && typeof value.model === 'string' ? value.model : '';
  return modelInPath(request) || inBody;
}

/** Returns the name of a model without characters that cannot be printed and without secrets. */
function safeName(model: string): string {
  const printable = model.slice(0, MODEL_MAX + MARGIN).replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '');
  return scrubName(printable).slice(0, MODEL_MAX).toWellFormed();
}

/** Why keys that no longer work are refused. Callers learn only that a key is not valid. */
const DENIALS: Readonly<Partial<Record<DeniedKey['reason'], string>>> = {
  expired: 'The key has expired.',
  revoked: 'The key is revoked.',
  rotated: 'The key was rotated, and this is its former secret.',
};

const deniedFor = ({ client: { denied } }: RequestContext): string | undefined =>
  denied ? DENIALS[denied.reason] : undefined;

/**
 * Returns the message of the error without texts of the request. The message can name a model, so it is made safe to show in a terminal.
 * @param secret a name that the message must not contain; '' for none
 */
function reasonOf({ answer: { error }, url, body }: RequestContext, secret: string): string {
  if (!error) return '';
  const { param } = error.info;
  const cut = error.message.slice(0, REASON_MAX + MARGIN);
  const unnamed = param && METADATA.test(param) ? cut.replaceAll(param, 'metadata.[prompt]') : cut;
  const safe = secret === '' ? unnamed : unnamed.replaceAll(secret, SECRET);
  const message = withoutTexts(safe, [...textsIn(body.value), ...textsInAddress(url), secret]);
  return visible(redact(message, ['email']).slice(0, REASON_MAX));
}

/** The name of a field that the caller has chosen. */
const METADATA = /^metadata[.[]/;

/** A part of a path that is a word, such as `completions`. Any other part can be a text. */
const PATH_WORD = /^[a-z0-9_.:-]{1,15}$/;

/** Returns the texts in an address: its query, and the parts of its path that are no words, as they are and decoded. */
function textsInAddress(url: string): string[] {
  if (!URL.canParse(url)) return [url];
  const { pathname, search } = new URL(url);
  const parts = pathname.split('/').filter((part) => !PATH_WORD.test(part));
  return [...parts, search.slice(1)].flatMap((text) => [text, decoded(text)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
