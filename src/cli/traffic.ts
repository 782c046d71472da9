import { rebuildTraffic } from '../admin/use-cases/traffic/traffic.ts';
import { iso } from '../core/time/clock.ts';
import { parseFlags } from './arguments.ts';
import type { CommandDefinition } from './command.ts';
import { operator } from './user.ts';

/** `signalbox traffic rebuild` */
export const trafficRebuild: CommandDefinition = {
  use: 'when figures of traffic seem wrong.',
  example: 'traffic rebuild',
  usage: '[--data DIR]',
  summary: 'Count traffic again from the ledger and the remaining decision records.',
  details: `You can run it while a server is running. Figures of days whose records were deleted stay unchanged.`,
  async run(args, { offline, now }) {
    parseFlags(args, {});
    const { traffic } = await offline.traffic();
    const from = await rebuildTraffic(operator(), traffic, now);
    if (from === 0) return 'Counted all traffic again.\n';
    return `Counted the traffic since ${iso(from).slice(0, 10)} again. Older records were deleted, so earlier figures stay unchanged.\n`;
  },
};
