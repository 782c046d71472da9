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
export type ToolName = keyof ToolAnswers;
export type ToolAnswer<Name extends ToolName> = ToolAnswers[Name];

/** The server runs one tool of a person at a time, and one that was given up still runs to its end there. */
const TRIES_MAX = 20;
const PAUSE_MS = 500;
/** The last one of this page. */
let last: Promise<unknown> = Promise.resolve();

/** Sends to the tools of the policy, or an edit, after what this page sends already. @throws never, but the reason of an aborted signal */
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

/** Runs a tool of the policy. @throws never, but the reason of an aborted signal */
export const runTool = <Name extends ToolName>(
  name: Name,
  body: unknown,
  signal: AbortSignal,
): Promise<ApiResult<ToolAnswers[Name]>> =>
  inTurn(() => send<ToolAnswers[Name]>('POST', `/admin/policy/${name}`, { body, signal }), signal);

/** The answer of a tool in a component, asked again when the body changes. @param body null asks for nothing */
export function useTool<Name extends ToolName>(name: Name, body: unknown): Resource<ToolAnswers[Name]> {
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
    setState((now) => ({ ...now, isLoading: true }));
    runTool(name, JSON.parse(text), control.signal).then(
      (result) => {
        if (control.signal.aborted) return;
        setState((now) =>
          result.ok
            ? { data: result.value, failure: null, isLoading: false, at: Date.now() }
            : { ...now, failure: result.failure, isLoading: false },
        );
      },
      () => {},
    );
    return () => control.abort();
  }, [name, text, turn]);
  return { ...state, renew: () => setTurn((now) => now + 1) };
}
