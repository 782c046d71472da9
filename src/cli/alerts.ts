import { testContent, testWebhook, type WebhookTest } from '../alerts/alerts.ts';
import { idAt } from '../core/id.ts';
import { messageOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import { ALERTS_LIMIT, ALERTS_LIMIT_MAX, alertsBody, testedWebhooks } from '../operate/alerts.ts';
import { generous, type JudgeTools, runtimeOf } from '../operate/policy/tools.ts';
import { openStore, requireStore } from '../store/open.ts';
import { groupOf, parseArguments, parseFlags, SWITCH, TEXT, wholeOf } from './arguments.ts';
import type { PolicyCommand } from './policy/command.ts';
import type { CommandOutput, CommandResult } from './result.ts';
import { table } from './terminal.ts';
import { jsonText } from './text.ts';
import { operator } from './user.ts';

type AlertCommand = Pick<PolicyCommand, 'judge' | 'folder' | 'database'>;

/** `signalbox alerts list|test`. Throws UsageError. */
export const runAlerts = groupOf<AlertCommand, CommandOutput>('alerts', { list, test });

/** The terms of a policy, whatever variables are set here. Throws UsageError. */
async function policyOf(folder: string, judge: JudgeTools) {
  const { snapshot } = await runtimeOf(folder, { ...judge, env: generous(judge.env) });
  return snapshot.alerts;
}

/** `alerts list [--limit 20] [--json]`: alerts, newest first, and webhooks. */
async function list(args: readonly string[], { judge, folder, database }: AlertCommand): Promise<string> {
  const { limit: text, json } = parseFlags(args, { limit: TEXT, json: SWITCH });
  const limit = text === undefined ? ALERTS_LIMIT : wholeOf('--limit', text, 1, ALERTS_LIMIT_MAX);
  const policy = await policyOf(folder, judge);
  await requireStore(database);
  const store = await openStore(database, { mode: 'beside', rooms: ['alerts'] });
  try {
    const body = await alertsBody(operator(), { alerts: store.alerts, policy }, { limit, after: null });
    return json ? jsonText(body) : listText(body);
  } finally {
    await store.close();
  }
}

type AlertsBody = Awaited<ReturnType<typeof alertsBody>>;

function listText({ data, webhooks, rules }: AlertsBody): string {
  if (webhooks.length === 0) return 'The policy has no webhook: alerts.webhooks is empty.\n';
  const minute = (time: string | null) => (time === null ? '-' : `${time.slice(0, 16).replace('T', ' ')} UTC`);
  const places = webhooks.map(({ name, format, state, last_sent_at, problem }) => {
    return [name, format, state, minute(last_sent_at), problem ?? '-'];
  });
  const terms = rules.map(({ name, on, to, last_alert_at }) => [name, on, to.join(', '), minute(last_alert_at)]);
  const told = data.flatMap(({ time, type, text, deliveries }) => [
    `${minute(time)}  ${type}  ${deliveries.map(deliveryText).join(', ')}`,
    ...text.split('\n').map((line) => `  ${line}`),
  ]);
  return [
    table([['WEBHOOK', 'FORMAT', 'STATE', 'LAST SENT', 'PROBLEM'], ...places]),
    table([['RULE', 'ON', 'TO', 'LAST ALERT'], ...terms]),
    told.length === 0 ? 'Nothing was sent yet.\n' : `${told.join('\n')}\n`,
  ].join('\n');
}

const deliveryText = ({ webhook, state, tries }: AlertsBody['data'][number]['deliveries'][number]): string =>
  `${webhook} ${state}${tries > 1 ? ` after ${tries} tries` : ''}`;

/** `alerts test [WEBHOOK] [--json]`. The code is 2 where a webhook could not be reached. */
async function test(args: readonly string[], { judge, folder }: AlertCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const [name = null, ...more] = positionals;
  if (more.length > 0) throw new UsageError('alerts test takes one webhook, or none for all.');
  const webhooks = await policyOf(folder, judge).then((policy) =>
    orUsage(() => testedWebhooks(operator(), policy, name)),
  );
  const now = judge.now();
  // No server gave the message an ID: that of its moment is as good for a test.
  const message = { id: idAt(now), time: now, content: testContent() };
  const host = { env: judge.env.get, now: judge.now };
  const results = await Promise.all(webhooks.map((webhook) => testWebhook(message, webhook, host)));
  const code = results.some(({ problem }) => problem !== null) ? 2 : 0;
  return { text: values.json ? jsonText(results.map(bodyOf)) : results.map(lineOf).join(''), code };
}

const bodyOf = ({ webhook, problem }: WebhookTest) => ({ webhook, sent: problem === null, problem });
const lineOf = ({ webhook, problem }: WebhookTest): string =>
  problem === null ? `${webhook}: sent.\n` : `${webhook}: not sent: ${problem}.\n`;

/** An error of the API as one of the command line. */
function orUsage<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw new UsageError(messageOf(cause));
  }
}
