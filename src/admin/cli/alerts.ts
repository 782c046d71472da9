import { idAt } from '../../core/id.ts';
import type { AlertTable } from '../../store/alerts.ts';
import { openStore, requireStore } from '../../store/open.ts';
import { testContent, testWebhook } from '../alerts/alerts.ts';
import { ALERT_OPERATIONS, type AlertServices } from '../alerts.ts';
import { generous, type JudgeTools, runtimeOf } from '../use-cases/policy/tools.ts';
import { groupOf } from './arguments.ts';
import { commandsOf, NO_WORTH } from './operations.ts';
import type { PolicyCommand } from './policy/command.ts';
import type { CommandOutput } from './result.ts';

interface AlertCommand extends Pick<PolicyCommand, 'judge' | 'folder' | 'database'> {
  now(): number;
}

/**
 * Runs `signalbox alerts list|test` without a server, with the database, a policy folder and the environment variables of this shell.
 * Throws UsageError.
 */
export const runAlerts = groupOf<AlertCommand, CommandOutput>(
  'alerts',
  commandsOf<AlertServices, AlertCommand>(ALERT_OPERATIONS, ({ judge, folder, database }) => ({
    alertPolicy: () => policyOf(folder, judge),
    alerts: { list: (page) => listed(database, page), test: (webhooks) => tested(webhooks, judge) },
    ...NO_WORTH,
  })),
);

/** Loads the alert rules and webhooks of a policy, even if provider variables are not set. Throws UsageError. */
async function policyOf(folder: string, judge: JudgeTools) {
  const { snapshot } = await runtimeOf(folder, { ...judge, env: generous(judge.env) });
  return snapshot.alerts;
}

async function listed(database: string, page: Parameters<AlertTable['list']>[0]) {
  await requireStore(database);
  const store = await openStore(database, { mode: 'beside', rooms: ['alerts'] });
  try {
    return await store.alerts.list(page);
  } finally {
    await store.close();
  }
}

function tested(webhooks: Parameters<AlertServices['alerts']['test']>[0], { env, now }: JudgeTools) {
  const time = now();
  // No server assigned an ID to this message, so the current time serves as its ID.
  const message = { id: idAt(time), time, content: testContent() };
  return Promise.all(webhooks.map((webhook) => testWebhook(message, webhook, { env: env.get, now })));
}
