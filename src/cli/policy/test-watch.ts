import { visibleLines } from '../../core/text/visible.ts';
import { createPluginLoader, type PluginLoader } from '../../host/plugins/load.ts';
import { processTimers } from '../../host/telemetry/process-timers.ts';
import { scrub } from '../../host/telemetry/secrets.ts';
import { signatureOf } from '../../policy/runtime/source.ts';
import { watchPolicies } from '../../policy/runtime/watch.ts';
import type { CommandResult } from '../result.ts';
import { pathText } from '../text.ts';
import type { PolicyCommand } from './command.ts';

type Run = (judge: PolicyCommand['judge']) => Promise<CommandResult>;

/** The result of a run, or the reason why it could not run. */
type Outcome = CommandResult | Error;

/**
 * Runs the cases at once, and again whenever a file of the policy or of its plugins changes, until the operator ends the command. The
 * function then returns the result of the last run. If an edit breaks the policy, the command reports the errors and continues to watch.
 * Throws if the first run is not possible.
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
        // A plugin may be in an endless loop, so during a run a signal ends the process at once.
        end?.forget();
        last = last === null ? await runOnce() : await attempt(runOnce);
        end = ended();
        end.signal.addEventListener('abort', stir);
        await write(outcomeText(last, json));
        if (!json)
          await write(`\nWaiting for a change in ${pathText(folder)} or its plugins. Press Ctrl-C to end.\n\n`);
      }
      // If an edit arrived during the run, the next run starts without a wait.
      if (!isStirred) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    watch.close();
  }
  if (last instanceof Error) throw last;
  return { text: '', code: last?.code ?? 0 };
}

/** Loads the plugins of a folder again for each run, and notices whether a file has changed since the last run. */
function pluginCode(folder: string) {
  /** The files of the plugins of the last policy that could be read. */
  let files: readonly string[] = [];
  let signature = '';
  const signatures = () => Promise.all([signatureOf(folder), signatureOf(folder, files)]);
  return {
    files: () => files,
    hasChanged: async () => (await signatureOf(folder, files)) !== signature,
    async run<Result>(run: (loader: PluginLoader) => Promise<Result>): Promise<Result> {
      const [policy, all] = await signatures();
      // Bun caches imported modules. Remove changed modules from the cache so that edited plugins are loaded again.
      for (const file of files) delete require.cache[file];
      const loader = createPluginLoader();
      try {
        return await run(loader);
      } finally {
        const found = loader.files();
        const isSame = found.length === 0 || found.join('\n') === files.join('\n');
        if (!isSame) files = found;
        const [policyNow, allNow] = await signatures();
        // If a run loads other plugin files than the run before, the different list of files alone is not a change. An edit during the run
        // is a change.
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
