import type { Static } from '@sinclair/typebox';
import { useEffect, useState } from 'preact/hooks';
import type * as tools from '../../../admin/policy-tool-answers.ts';
import { send } from '../../api/client.ts';
import type { ApiResult } from '../../api/failure.ts';
import type { Resource } from '../../api/resource.ts';

interface ToolAnswers {
  readonly check: Static<typeof tools.PolicyCheck>;
  readonly test: Static<typeof tools.PolicyTest>;
  readonly diff: Static<typeof tools.PolicyDifference>;
}
type ToolName = keyof ToolAnswers;
export type ToolAnswer<Name extends ToolName> = ToolAnswers[Name];

/** The server's diagnostics for the files with the edit. The diagnostics are loading if the edit has changed since the last check. */
export type PolicyJudgement = Resource<ToolAnswer<'check'>>;
export type FileDiagnostic = ToolAnswer<'check'>['diagnostics'][number];

/** The diagnostics for one file. */
export const diagnosticsOf = ({ data }: PolicyJudgement, name: string): readonly FileDiagnostic[] =>
  (data?.diagnostics ?? []).filter(({ file }) => file === name);

/**
 * How often the page tries to run a policy tool. The server runs only one tool at a time for each person, and finishes a run even if the
 * page no longer waits for the run.
 */
const TRIES_MAX = 20;
const PAUSE_MS = 500;
/** The last request of this page to a tool. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Sends a request to a policy tool, or an edit, after this page's earlier requests. `inTurn` never throws, except for the reason of an
 * aborted signal.
 */
export async function inTurn<Result>(
  work: () => Promise<ApiResult<Result>>,
  signal?: AbortSignal,
): Promise<ApiResult<Result>> {
  const turn = last.then(async () => {
    for (let tries = 1; ; tries++) {
      signal?.throwIfAborted();
      const result = await work();
      if (result.ok || result.failure.code !== 'rate_limit_exceeded' || tries === TRIES_MAX) return result;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  });
  last = turn.catch(() => {});
  return await turn;
}

/**
 * The response of a policy tool in a component. When the body changes, the component requests the response again and abandons the earlier
 * run.
 * @param body null requests nothing
 * @param pauseMs how long the body must stay unchanged first
 */
export function useTool<Name extends ToolName>(name: Name, body: unknown, pauseMs = 0): Resource<ToolAnswers[Name]> {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Omit<Resource<ToolAnswers[Name]>, 'renew'>>({
    data: null,
    failure: null,
    isLoading: true,
    at: null,
  });
  const text = body === null ? null : JSON.stringify(body);
  useEffect(() => {
    if (text === null) return;
    const control = new AbortController();
    const { signal } = control;
    setState((now) => ({ ...now, isLoading: true }));
    const run = async () => {
      const options = { body: JSON.parse(text), signal };
      const work = () => send<ToolAnswers[Name]>('POST', `/admin/policy/${name}`, options);
      const result = await inTurn(work, signal).catch(() => null);
      if (result === null || signal.aborted) return;
      const answered = result.ok ? { data: result.value, failure: null, at: Date.now() } : { failure: result.failure };
      setState((now) => ({ ...now, ...answered, isLoading: false }));
    };
    const timer = setTimeout(() => void run(), pauseMs);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [name, text, turn]);
  return { ...state, renew: () => setTurn((now) => now + 1) };
}
