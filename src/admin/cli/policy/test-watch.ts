import { visibleLines } from '../../../core/visible.ts';
import { createPluginLoader, type PluginLoader } from '../../../host/plugins/load.ts';
import { processTimers } from '../../../host/telemetry/process-timers.ts';
import { scrub } from '../../../host/telemetry/secrets.ts';
import { signatureOf } from '../../../policy/runtime/source.ts';
import { watchPolicies } from '../../../policy/runtime/watch.ts';
import type { CommandResult } from '../result.ts';
import { pathText } from '../text.ts';
import type { PolicyCommand } from './command.ts';

type Run = (judge: PolicyCommand['judge']) => Promise<CommandResult>;

/** The result of a run, or the reason why it could not run. */
type Outcome = CommandResult | Error;

/**
 * Runs at once, and again whenever a file of the folder or of its plugins changes, until the operator ends it: then with
 * what the last run came to. A policy that breaks meanwhile is reported, and watched on. Throws where the first run cannot be.
 */
export async function testOnEdits(
  { folder, json }: { readonly folder: string; readonly json: boolean },
  { judge, write, ended }: Pick<PolicyCommand, 'judge' | 'write' | 'ended'>,
  run: Run,
): Promise<CommandResult> {
  const code = pluginCode(folder);
  let wake = () => {};
  let isStirred = true;
  const stir = () => {
    isStirred = true;
    wake();
  };
  const watch = watchPolicies({
    folder,
    busyFolder: null,
    more: code.files,
    onFirstEvent: () => {},
    onEdit: stir,
    timers: processTimers,
  });
  const runOnce = () => code.run((loader) => run({ ...judge, loader }));
  let last: Outcome | null = null;
  let end: ReturnType<typeof ended> | null = null;
  try {
    while (!end?.signal.aborted) {
      isStirred = false;
      if (await code.hasChanged()) {
        // A plugin may lose itself in a loop: then a signal ends the process at once.
        end?.forget();
        last = last === null ? await runOnce() : await attempt(runOnce);
        end = ended();
        end.signal.addEventListener('abort', stir);
        await write(outcomeText(last, json));
        if (!json) await write(`\nWaiting for a change in ${pathText(folder)} or its plugins. Ctrl-C ends.\n\n`);
      }
      // An edit that came meanwhile must not be waited for.
      if (!isStirred) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    watch.close();
  }
  if (last instanceof Error) throw last;
  return { text: '', code: last?.code ?? 0 };
}

/** The plugins of a folder, loaded anew for each run, and whether anything has changed since the last. */
function pluginCode(folder: string) {
  /** The plugins' files of the last policy that could be read. */
  let files: readonly string[] = [];
  let signature = '';
  const signatures = () => Promise.all([signatureOf(folder), signatureOf(folder, files)]);
  return {
    files: () => files,
    hasChanged: async () => (await signatureOf(folder, files)) !== signature,
    async run<Result>(run: (loader: PluginLoader) => Promise<Result>): Promise<Result> {
      const [policy, all] = await signatures();
      // Imported code stays in memory, with its own imports: an edit must count.
      for (const file of files) delete require.cache[file];
      const loader = createPluginLoader();
      try {
        return await run(loader);
      } finally {
        const found = loader.files();
        const isSame = found.length === 0 || found.join('\n') === files.join('\n');
        if (!isSame) files = found;
        const [policyNow, allNow] = await signatures();
        // Other files than before are no change of any: but an edit that came while it ran is.
        signature = isSame || policyNow !== policy ? all : allNow;
      }
    },
  };
}

async function attempt(run: () => Promise<CommandResult>): Promise<Outcome> {
  try {
    return await run();
  } catch (cause) {
    return cause instanceof Error ? cause : new Error(String(cause));
  }
}

function outcomeText(outcome: Outcome, json: boolean): string {
  if (!(outcome instanceof Error)) return outcome.text;
  const message = visibleLines(scrub(outcome.message));
  return json ? `${JSON.stringify({ error: message })}\n` : `signalbox: ${message}\n`;
}
