import { resolve } from 'node:path';
import type { DoctorPolicy, DoctorSources } from '../admin/use-cases/doctor/finding.ts';
import { type Doctor, openDoctor } from '../admin/use-cases/doctor/run.ts';
import type { ServerAudits } from '../admin/use-cases/ledger/audit.ts';
import type { JudgeTools } from '../admin/use-cases/policy/tools.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { commandName } from '../core/command-name.ts';
import { revisionsIn } from '../core/text/revision.ts';
import { shellWord } from '../core/text/shell-word.ts';
import { iso } from '../core/time/clock.ts';
import { compileCandidate, isRejected } from '../policy/runtime/candidate.ts';
import type { Reloader } from '../policy/runtime/reload.ts';
import type { SecretFiles } from '../policy/runtime/secret-files.ts';
import type { OpenStore } from '../store/driver.ts';
import { liveInstances } from '../store/instance-reports.ts';
import type { Host } from './host.ts';

interface DoctorParts {
  readonly reloader: Reloader;
  readonly store: OpenStore;
  readonly audits: ServerAudits;
  readonly secrets: SecretFiles;
  /** The tools that check policies sent by requests, and the policy folder. */
  readonly desk: { readonly judge: JudgeTools; readonly folder: string };
  readonly host: Pick<Host, 'now' | 'timers'>;
}

/** Opens the checks of a running server, which see its own policy, connections and options. */
export function openServerDoctor(parts: DoctorParts, options: ServeOptions): Doctor {
  const { reloader, store, audits, secrets, desk, host } = parts;
  return openDoctor(
    (): DoctorSources => ({
      ...{ now: host.now, timers: host.timers, place: options, folder: resolve(desk.folder) },
      command: (words) => `${commandName()} ${words} --data ${shellWord(resolve(options.home))}`,
      secretPaths: secrets.paths,
      policy: () => activePolicy(parts),
      cluster: async () => {
        const instances = await liveInstances(store);
        return { instances, isSplit: revisionsIn(instances).length > 1 };
      },
      databaseFault: null,
      door: null,
      server: {
        instance: store.instance,
        options,
        lastReload: reloader.status().last,
        secrets: reloader.status().secrets,
        lastAudit: audits.last,
      },
    }),
  );
}

/** The active policy. Its files are judged again, because figures become old while a server runs. */
async function activePolicy({ reloader, desk: { judge, folder }, host }: DoctorParts): Promise<DoctorPolicy> {
  const { bundle, runtime, warnings } = reloader.active;
  const judged = await compileCandidate(bundle, {
    ...judge,
    folder,
    onlyServing: true,
    today: iso(host.now()).slice(0, 10),
  });
  return { runtime, warnings: isRejected(judged) ? warnings : judged.warnings };
}
