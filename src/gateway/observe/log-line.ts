import { idText } from '../../core/id.ts';
import type { DecisionOutcome } from '../../records/record.ts';
import type { Log, LogFields } from '../../telemetry/log.ts';
import { type Observation, type Settled, selectorOf } from './observation.ts';
import type { Witness } from './observer.ts';
import { isStranger, Strangers } from './strangers.ts';

interface RequestLine {
  readonly level: 'info' | 'warn';
  readonly message: 'chat' | 'request';
  readonly fields: LogFields;
}

/**
 * What the log says of a request that is over. `now`: ms on the gateway's clock; `suppressed`: how many like it were left
 * out before. Names and figures alone, none of them a caller's own.
 */
export function requestLine(seen: Observation, now: number, suppressed?: number): RequestLine {
  return { level: levelOf(seen), message: seen.isChat ? 'chat' : 'request', fields: fieldsOf(seen, now, suppressed) };
}

function fieldsOf(seen: Observation, now: number, suppressed: number | undefined): LogFields {
  const { trace, judged, settled, status, isChat } = seen;
  const facts = judged?.facts;
  const outcome = settled?.outcome;
  const platform = settled?.platform;
  const usage = outcome?.usage;
  return {
    request: idText('req_', seen.id),
    trace: trace?.isSampled ? trace.traceId : undefined,
    key: seen.keyId ?? undefined,
    method: isChat ? undefined : seen.method,
    route: isChat ? undefined : seen.route,
    status: status === 0 ? undefined : status,
    error: seen.code ?? outcome?.error ?? undefined,
    decision: seen.decisionId ?? undefined,
    operation: facts?.operation,
    selector: judged ? selectorOf(judged) : undefined,
    stream: seen.isStream || undefined,
    task: facts?.task,
    model: platform?.routed_model ?? (facts?.pinned ? facts.model : undefined),
    endpoint: settled ? endpointOf(settled) : undefined,
    reason: platform?.route_reason,
    attempts: outcome?.attempts.length,
    failures: outcome && failuresOf(outcome),
    input_tokens: usage?.inputTokens,
    output_tokens: usage?.outputTokens,
    cached_tokens: usage?.cachedInputTokens || undefined,
    reasoning_tokens: usage?.reasoningTokens || undefined,
    credits: platform?.credits_consumed,
    saved_credits: platform?.cost_saved_credits,
    payment: platform?.payment?.id ?? undefined,
    ttft_ms: outcome?.firstPartMs ?? undefined,
    total_ms: outcome?.totalMs ?? Math.round(now - seen.at),
    outcome: outcome?.status ?? (isChat ? outcomeOf(seen) : undefined),
    revision: platform?.policy_revision ?? judged?.snapshot.revision,
    suppressed,
  };
}

/** Of a chat that was not carried out; what was refused has its error instead. */
function outcomeOf({ isReplayed, isUnanswered }: Observation): 'replayed' | 'abandoned' | undefined {
  if (isReplayed) return 'replayed';
  return isUnanswered ? 'abandoned' : undefined;
}

/** Whatever goes wrong here or upstream is the operator's concern; whatever goes wrong at callers is theirs. */
function levelOf({ status, settled }: Observation): 'info' | 'warn' {
  const ended = settled?.outcome.status;
  return status >= 500 || ended === 'failed' || ended === 'broken' ? 'warn' : 'info';
}

/** Whether a route is open to all, probes among them, and works. What leads nowhere is `other`. */
const isUnworthy = ({ route, status }: Observation): boolean =>
  status < 500 && route !== 'other' && !route.startsWith('/v1/') && !route.startsWith('/admin/');

/** `provider/upstream` of the last attempt. */
function endpointOf({ outcome: { attempts } }: Settled): string | undefined {
  const last = attempts[attempts.length - 1];
  return last && `${last.provider}/${last.upstream}`;
}

/** `provider/model:kind`, a word an attempt that failed; undefined when none did. */
function failuresOf({ attempts }: DecisionOutcome): string | undefined {
  let words: string | undefined;
  for (const { provider, model, failure } of attempts) {
    if (failure === null) continue;
    const word = `${provider}/${model}:${failure}`;
    words = words === undefined ? word : `${words} ${word}`;
  }
  return words;
}

/** Writes one line a request. */
export function logRequests(log: Log): Witness {
  const strangers = new Strangers();
  return (seen, now) => {
    if (isUnworthy(seen)) return;
    let suppressed: number | undefined;
    if (isStranger(seen)) {
      const before = strangers.next(now);
      if (before === null) return;
      suppressed = before || undefined;
    }
    const { level, message, fields } = requestLine(seen, now, suppressed);
    log[level](message, fields);
  };
}
