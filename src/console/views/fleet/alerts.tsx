import { useState } from 'preact/hooks';
import { send } from '../../api/client.ts';
import type { ReadOf } from '../../api/reads.ts';
import { type Resource, renewAll } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Empty, Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State, type Tone } from '../../design/tag.tsx';
import { toast } from '../../design/toast.tsx';
import { Coded, When } from '../../design/written.tsx';
import { reachOfViewer } from '../../shell/session.ts';

type AlertReport = ReadOf<'/admin/alerts'>;
type AlertLine = AlertReport['data'][number];

/** Alerts that people were sent, and webhooks that do not take them. */
export const Alerts = ({ alerts }: { readonly alerts: Resource<AlertReport> }) => (
  <section class="card" aria-labelledby="alerts">
    <Loaded what="Alerts" of={alerts}>
      {(report) => (
        <>
          <div class="card-head">
            <h2 id="alerts">{sentenceOf(report)}</h2>
            {report.webhooks.length > 0 && reachOfViewer('alerts.test') !== null && <TestButton />}
          </div>
          {report.webhooks.length > 0 && <Webhooks webhooks={report.webhooks} />}
          {report.data.length === 0 ? (
            <Empty title={report.rules.length === 0 ? 'No alert is set' : 'No alert was sent yet'}>
              Rules under <code>alerts</code> in the policy say when people are alerted.
            </Empty>
          ) : (
            <Table
              label="Alerts"
              rows={report.data}
              keyOf={({ id }) => id}
              columns={[
                {
                  id: 'text',
                  head: 'Alert',
                  phone: 'main',
                  cell: ({ text }) => (
                    <span class="fleet-text">
                      <Coded text={text} />
                    </span>
                  ),
                },
                { id: 'sent', head: 'Delivery', phone: 'second', cell: (alert) => <Delivery alert={alert} /> },
                { id: 'time', head: 'When', isFigure: true, phone: 'fact', cell: ({ time }) => <When at={time} /> },
              ]}
            />
          )}
        </>
      )}
    </Loaded>
  </section>
);

function sentenceOf({ webhooks, rules }: AlertReport): string {
  const failing = webhooks.filter(({ state }) => state === 'failing').map(({ name }) => name);
  if (failing.length > 0) return `Alerts do not reach ${failing.join(', ')}.`;
  if (webhooks.length === 0) return 'Alerts have no webhook yet.';
  return `${rules.length} ${rules.length === 1 ? 'rule watches' : 'rules watch'}, and alerts arrive.`;
}

const WEBHOOKS: Readonly<Record<string, { readonly tone: Tone; readonly word: string }>> = {
  untried: { tone: 'quiet', word: 'Untried' },
  ok: { tone: 'good', word: 'Arrives' },
  failing: { tone: 'bad', word: 'Fails' },
};

const Webhooks = ({ webhooks }: Pick<AlertReport, 'webhooks'>) => (
  <Table
    label="Webhooks"
    rows={webhooks}
    keyOf={({ name }) => name}
    columns={[
      { id: 'name', head: 'Webhook', cell: ({ name }) => name },
      {
        id: 'state',
        head: 'State',
        phone: 'second',
        cell: ({ state, problem }) => {
          const { tone, word } = WEBHOOKS[state] ?? { tone: 'warn', word: state };
          return (
            <>
              <State tone={tone}>{word}</State>{' '}
              {problem && (
                <span class="dim">
                  <Coded text={problem} />
                </span>
              )}
            </>
          );
        },
      },
      {
        id: 'sent',
        head: 'Last arrived',
        isFigure: true,
        phone: 'fact',
        cell: ({ last_sent_at }) =>
          last_sent_at === null ? <span class="dim">never</span> : <When at={last_sent_at} />,
      },
    ]}
  />
);

function Delivery({ alert: { deliveries } }: { readonly alert: AlertLine }) {
  const failed = deliveries.filter(({ state }) => state === 'failed');
  if (failed.length > 0) return <State tone="bad">Failed: {failed.map(({ webhook }) => webhook).join(', ')}</State>;
  if (deliveries.some(({ state }) => state === 'waiting')) return <State tone="warn">Waiting</State>;
  return <State tone="good">Sent</State>;
}

/** Sends a test to all webhooks. */
function TestButton() {
  const [isBusy, setBusy] = useState(false);
  const test = async () => {
    setBusy(true);
    const result = await send<{ readonly data: readonly { readonly webhook: string; readonly sent: boolean }[] }>(
      'POST',
      '/admin/alerts/test',
      { body: {} },
    );
    setBusy(false);
    if (!result.ok) return toast(result.failure.message);
    const failed = result.value.data.filter(({ sent }) => !sent).map(({ webhook }) => webhook);
    toast(failed.length === 0 ? 'The test arrived everywhere.' : `The test did not reach ${failed.join(', ')}.`);
    renewAll('/admin/alerts');
  };
  return (
    <Button disabled={isBusy} onClick={() => void test()}>
      {isBusy ? 'Sending…' : 'Send a test'}
    </Button>
  );
}
