import { expect, test } from 'bun:test';
import { effort, isDeep } from '../../deep/effort.ts';
import { RandomEdits } from '../../reload/random-edits.ts';
import { answerOf, eventsOf, waitFor } from '../../support/answers.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { IN_FORCE_MS, type LivePolicy, startLivePolicy } from '../../support/live-policy.ts';
import { UPSTREAM_KEY } from '../../support/policies.ts';
import { openFiles, residentMiB } from '../../support/process.ts';

const hello = [{ role: 'user', content: 'Say hello.' }];

/** The model and revision of an answer. */
interface ServedModel {
  readonly revision: string;
  readonly model: string;
}

/** Sends requests until stopped. Collects failures, and the model and revision of each answer. */
function startTraffic({ box }: LivePolicy) {
  const seen = new Map<string, ServedModel>();
  const failures: string[] = [];
  let sent = 0;
  let stopped = false;
  const ask = async (stream: boolean) => {
    const response = await box.post('/v1/chat/completions', { model: 'auto', messages: hello, stream });
    sent++;
    if (response.status !== 200) return failures.push(`${response.status} ${await response.text()}`);
    if (!stream) {
      const { platform } = await answerOf(response);
      return note(platform.policy_revision, platform.routed_model);
    }
    const { chunks, done } = await eventsOf(response);
    const platform = chunks.find((chunk) => chunk.platform)?.platform;
    if (!done || !platform) return failures.push('a stream broke off');
    return note(platform.policy_revision, platform.routed_model);
  };
  const note = (revision: string, model: string) => void seen.set(`${revision} ${model}`, { revision, model });
  const worker = async (stream: boolean) => {
    while (!stopped) {
      await ask(stream).catch((error) => failures.push(String(error)));
      await Bun.sleep(5);
    }
  };
  const workers = [false, false, false, true, true, true].map(worker);
  return {
    seen,
    failures,
    sent: () => sent,
    async stop() {
      stopped = true;
      await Promise.all(workers);
    },
  };
}

/** Far above the noise between two garbage collections, far below one leaked runtime for each edit. */
const GROWTH_MIB = 96;

const { runs, random, proved } = effort('reload', 6, 1_000);

test(
  `${runs} random edits under traffic: no request fails, and each answer agrees with a valid revision`,
  async () => {
    const upstream = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: { text: ['all ', 'is ', 'well'] } });
    let edits: RandomEdits | undefined;
    const live = await startLivePolicy(
      {},
      {
        isProcess: true,
        layOut: (folder) => {
          edits = new RandomEdits(folder, upstream.url, random);
          void edits.layOut();
        },
      },
    );
    const traffic = startTraffic(live);
    const { pid } = live.box;
    let warm = { files: [] as string[], mib: 0 };
    let inForce = 0;
    let refused = 0;
    try {
      for (let i = 0; i < runs; i++) {
        const revision = await edits!.edit();
        // Some edits follow at once; all other edits wait.
        if (random() < 0.3) await edits!.pause(200);
        else if (revision === null) {
          await live.refused();
          refused++;
        } else {
          await waitFor(async () => (await live.status()).revision === revision, IN_FORCE_MS);
          inForce++;
        }
        if (i === Math.floor(runs / 4)) warm = { files: openFiles(pid), mib: residentMiB(pid) };
      }
      const last = await edits!.state();
      if (last !== null) await waitFor(async () => (await live.status()).revision === last, IN_FORCE_MS);
      await Bun.sleep(200);
      const grown = residentMiB(pid) - warm.mib;
      const files = openFiles(pid);
      await traffic.stop();

      expect(traffic.failures).toEqual([]);
      expect([...traffic.seen.values()].filter(({ revision, model }) => edits!.valid.get(revision) !== model)).toEqual(
        [],
      );
      expect(files.length).toBeLessThanOrEqual(warm.files.length + 2);
      expect(grown).toBeLessThan(GROWTH_MIB);
      expect(traffic.seen.size).toBeGreaterThan(runs / 30);
      proved(
        `random edits of a policy folder under JSON and SSE traffic: ${traffic.sent()} requests, none failed; ` +
          `${traffic.seen.size} revisions answered, each valid and with its own model; ${inForce} edits seen in force, ` +
          `${refused} refused; memory ${grown < 0 ? '−' : '+'}${Math.abs(grown).toFixed(0)} MiB, open files ` +
          `${warm.files.length} → ${files.length}`,
      );
      if (isDeep) console.log(Object.fromEntries(edits!.kinds));
    } finally {
      await traffic.stop();
      await live.stop();
      await upstream.stop();
    }
  },
  runs * 4_000,
);
