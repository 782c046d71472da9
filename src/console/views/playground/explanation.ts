import type { Static } from '@sinclair/typebox';
import { useEffect, useRef, useState } from 'preact/hooks';
import type * as tools from '../../../admin/policy-explanation.ts';
import { send } from '../../api/client.ts';
import type { ApiFailure, ApiResult } from '../../api/failure.ts';
import type { RequestBody } from './body.ts';
import { Pace } from './pace.ts';

export type RequestExplanation = Static<typeof tools.PolicyExplanation>;

/** The latest decision, and the failure of the latest request for a decision. */
export interface ExplainedRequest {
  readonly explanation: RequestExplanation | null;
  readonly failure: ApiFailure | null;
  retry(): void;
}

const explain = (body: RequestBody, signal: AbortSignal) =>
  send<RequestExplanation>('POST', '/admin/policy/explain', { body, signal });

/**
 * Requests the decision for a request again whenever the request changes. The previous decision stays until the next decision arrives.
 * @param question null for no request, for example while the body is not valid
 */
export function useExplanation(question: RequestBody | null, key: string): ExplainedRequest {
  const [state, setState] = useState<Pick<ExplainedRequest, 'explanation' | 'failure'>>({
    explanation: null,
    failure: null,
  });
  const again = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const pace = useRef<Pace<RequestBody, ApiResult<RequestExplanation>> | null>(null);
  const latest = useRef<RequestBody | null>(null);
  pace.current ??= new Pace(explain, (result) => {
    if (result.ok) return setState({ explanation: result.value, failure: null });
    setState((now) => ({ ...now, failure: result.failure }));
    // The server answers with status 429 if another page of the same person also requests decisions.
    if (result.failure.status !== 429) return;
    again.current = setTimeout(ask, Math.max(500, (result.failure.retryAt ?? 0) - Date.now()));
  });
  const ask = () => {
    clearTimeout(again.current);
    if (latest.current) pace.current?.want(latest.current);
  };
  const text = question && JSON.stringify(question);
  useEffect(() => {
    latest.current = question && { request: question, ...(key !== '' && { key }) };
    if (latest.current) ask();
    else pace.current?.stop();
  }, [text, key]);
  useEffect(
    () => () => {
      clearTimeout(again.current);
      pace.current?.stop();
    },
    [],
  );
  return { ...state, retry: ask };
}
