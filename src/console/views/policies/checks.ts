import { effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ApiFailure } from '../../api/failure.ts';
import { changes } from './draft.ts';
import { runTool, type ToolAnswer } from './tools.ts';

export type FileDiagnostic = ToolAnswer<'check'>['diagnostics'][number];
type GuardedPlace = ToolAnswer<'check'>['guarded'][number];

/** The server's judgement of the files with the edit. */
interface PolicyJudgement {
  /** Of the last check that came back; null before. */
  readonly result: ToolAnswer<'check'> | null;
  readonly failure: ApiFailure | null;
  /** Whether the edit has changed since. */
  readonly isRunning: boolean;
}

const UNJUDGED: PolicyJudgement = { result: null, failure: null, isRunning: true };
export const judgement = signal<PolicyJudgement>(UNJUDGED);

/** A pause in typing after which the edit is checked, ms. */
const PAUSE_MS = 300;

/** Checks the files, with the edit as it is typed, while the component is shown. A check of an earlier text is given up. */
export function useChecks(isAllowed: boolean): void {
  useEffect(() => {
    if (!isAllowed) return;
    let running = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = effect(() => {
      const sent = changes.value;
      running.abort();
      clearTimeout(timer);
      running = new AbortController();
      const { signal: given } = running;
      judgement.value = { ...judgement.peek(), isRunning: true };
      timer = setTimeout(() => void check(sent, given), PAUSE_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
      running.abort();
      judgement.value = UNJUDGED;
    };
  }, [isAllowed]);
}

async function check(sent: typeof changes.value, given: AbortSignal): Promise<void> {
  try {
    const result = await runTool('check', sent.length === 0 ? {} : { changes: sent }, given);
    if (given.aborted) return;
    judgement.value = result.ok
      ? { result: result.value, failure: null, isRunning: false }
      : { ...judgement.peek(), failure: result.failure, isRunning: false };
  } catch (cause) {
    if (!given.aborted) throw cause;
  }
}

/** What the judgement says of a file. */
export const diagnosticsOf = ({ result }: PolicyJudgement, name: string): readonly FileDiagnostic[] =>
  (result?.diagnostics ?? []).filter(({ file }) => file === name);

export const placeOfGuarded = ({ section, name, key }: GuardedPlace): string =>
  [section, name, key].filter((part) => part !== null).join('.');
