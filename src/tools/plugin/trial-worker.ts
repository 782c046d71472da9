import type { Plugin } from '../../contract/kinds.ts';
import { createPluginLoader } from '../../host/plugins/load.ts';
import { examine } from '../conformance/suite.ts';
import { codeLaw } from './code-law.ts';
import { host } from './gateway-parts.ts';
import type { Trial, TrialMessage } from './trial.ts';

/** Tests plugins in a worker, which the command can end. The worker receives one trial and posts its results. */
declare const self: {
  onmessage: ((event: { readonly data: Trial }) => void) | null;
  postMessage(message: TrialMessage): void;
};

// The standard output is reserved for the command, so the output of plugins goes to the standard error.
for (const name of ['log', 'info', 'debug']) Reflect.set(console, name, Reflect.get(console, 'error'));
process.stdout.write = process.stderr.write.bind(process.stderr);

self.onmessage = ({ data }) => {
  void run(data).then((why) => self.postMessage(why === null ? { tells: 'done' } : { tells: 'refused', why }));
};

/** Returns why nothing could be tested; null after a complete trial. */
async function run({ specifier, folder, seed, runs, samples }: Trial): Promise<string | null> {
  const loader = createPluginLoader();
  const module = (await loader.load([specifier], folder)).get(specifier);
  if (!module || module instanceof Error) return module?.message ?? 'the module was not loaded';
  if (module.plugins.length === 0) {
    return 'it exports no plugin: it needs an export made by `defineStrategy`, `defineProvider` or `defineGuard`';
  }
  const imports = codeLaw(loader.files());
  for (const plugin of module.plugins) {
    const { kind, name, status } = plugin;
    self.postMessage({ tells: 'plugin', plugin: { kind, name, status } });
    const means = {
      host,
      samples: samplesOf(plugin, samples),
      trying: (law: string) => self.postMessage({ tells: 'trying', law }),
    };
    self.postMessage({ tells: 'law', report: imports });
    for (const report of examine(plugin, means, { seed, runs })) self.postMessage({ tells: 'law', report });
  }
  return null;
}

const samplesOf = ({ kind, name }: Plugin, samples: Trial['samples']) =>
  kind === 'provider' ? (samples[name] ?? samples[''] ?? []) : [];
