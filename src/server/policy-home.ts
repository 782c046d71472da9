import { folderHome, type PolicyHome } from '../admin/use-cases/policy/home.ts';
import { storeHome } from '../admin/use-cases/policy/push.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { buildCandidate, type PolicyCandidate } from '../policy/runtime/candidate.ts';
import { createParser } from '../policy/runtime/parser.ts';
import { foundLogger } from './found-notes.ts';
import { InstanceReporter } from './instance-report.ts';
import { keepReloading, type ReloadServices, type ServerPolicyTools } from './policy-reload.ts';
import { PushFollower } from './push-follower.ts';
import type { ServerResources } from './resources.ts';

/** Returns where a server's policy is kept, according to its settings. */
function homeOf(
  { folder }: ServerPolicyTools,
  { store }: ServerResources,
  { policiesFrom }: PolicySetting,
): PolicyHome {
  if (policiesFrom === 'files') return folderHome(folder, store);
  return storeHome(folder, { store, isServed: async () => true, now: store.instance.now });
}

type PolicySetting = Pick<ServeOptions, 'policiesFrom'>;

/** Keeps the policy of a server in step with its source, and reports to the other servers which policy is active on this server. */
export function openPolicies(
  first: PolicyCandidate,
  tools: ServerPolicyTools,
  services: Omit<ReloadServices, 'home' | 'onAttempt'>,
  resources: ServerResources,
  setting: PolicySetting,
) {
  const { store, log, host, life } = resources;
  const { timers, version } = host;
  const home = homeOf(tools, resources, setting);
  const reloading = keepReloading(first, tools, { ...services, home, onAttempt: () => void reporter.note() });
  const { reloader } = reloading;
  const reporter: InstanceReporter = new InstanceReporter({
    store,
    log,
    timers,
    version,
    follows: home.origin,
    rank: services.ledger.rank,
    status: () => reloader.status(),
    pushed: () => reloader.active.bundle.pushed?.id ?? null,
  });
  // The policy reload uses a separate parser, so that the check of a revision cannot delay an edit.
  const parser = createParser();
  const follower = new PushFollower({
    store,
    log,
    timers,
    reloader,
    reporter,
    judge: (bundle) =>
      buildCandidate(bundle, { ...tools, found: undefined, ...reloader.surroundings, parse: parser.parse }),
  });
  life.stops.defer(() => {
    follower.stop();
    reporter.stop();
    reloading.stop();
    parser.close();
  });
  return {
    ...reloading,
    home,
    reporter,
    async begin() {
      services.people.followTeamNames(() => void reloader.followTeams());
      // Teams that the policy declares had no ID when the policy was first loaded.
      await reloader.followTeams();
      const logNew = foundLogger(first.runtime.snapshot, log);
      tools.servers?.run(async () => {
        await reloader.followFound();
        logNew(reloader.lease().snapshot);
      });
      await reporter.begin();
      if (home.origin === 'store') follower.begin();
    },
  };
}
