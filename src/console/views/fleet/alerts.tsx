import type { Static } from '@sinclair/typebox';
import type { AlertTest } from '../../../admin/alerts.ts';
import type { ReadOf } from '../../api/reads.ts';
import { type Resource, renewAll } from '../../api/resource.ts';
import { LoadedCard } from '../../design/card.tsx';
import { Empty } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { NamedState, State, type StateWords } from '../../design/tag.tsx';
import { toast } from '../../design/toast.tsx';
import { Coded, When } from '../../design/written.tsx';
import { Actions, type Change } from '../../kit/actions.tsx';

type AlertReport = ReadOf<'/admin/alerts'>;

/** The alerts that were sent, and the webhooks that fail. */
export const Alerts = ({ alerts }: { readonly alerts: Resource<AlertReport> }) => (
  <LoadedCard
    id="alerts"
    what="Alerts"
    of={alerts}
    heading={sentenceOf}
    aside={({ webhooks }) => webhooks.length > 0 && <Actions of={[TEST]} />}
  >
    {({ webhooks, rules, data }) => (
      <>
        {webhooks.length > 0 && <Webhooks webhooks={webhooks} />}
        {data.length === 0 ? (
          <Empty title={rules.length === 0 ? 'No alert rule is set' : 'No alert has been sent yet'}>
            Rules under <code>alerts</code> in the policy say when Signalbox sends an alert.
          </Empty>
        ) : (
          <Table
            label="Alerts"
            rows={data}
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
              { id: 'sent', head: 'Delivery', phone: 'second', cell: deliveryOf },
              { id: 'time', head: 'When', isFigure: true, phone: 'fact', cell: ({ time }) => <When at={time} /> },
            ]}
          />
        )}
      </>
    )}
  </LoadedCard>
);

function sentenceOf({ webhooks, rules }: AlertReport): string {
  const failing = webhooks.filter(({ state }) => state === 'failing').map(({ name }) => name);
  if (failing.length > 0) return `Alerts do not reach ${failing.join(', ')}.`;
  if (webhooks.length === 0) return 'No webhook is set for alerts.';
  return `${rules.length} ${rules.length === 1 ? 'rule watches' : 'rules watch'} this gateway, and the webhooks accept alerts.`;
}

const WEBHOOKS: StateWords = { untried: ['quiet', 'Untried'], ok: ['good', 'Arrives'], failing: ['bad', 'Fails'] };

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
        cell: ({ state, problem }) => (
          <>
            <NamedState name={state} of={WEBHOOKS} />{' '}
            <span class="dim">
              <Coded text={problem ?? ''} />
            </span>
          </>
        ),
      },
      {
        id: 'sent',
        head: 'Last arrived',
        isFigure: true,
        phone: 'fact',
        cell: ({ last_sent_at: at }) => (at === null ? <span class="dim">never</span> : <When at={at} />),
      },
    ]}
  />
);

function deliveryOf({ deliveries }: AlertReport['data'][number]) {
  const failed = deliveries.filter(({ state }) => state === 'failed');
  if (failed.length > 0) return <State tone="bad">Failed: {failed.map(({ webhook }) => webhook).join(', ')}</State>;
  if (deliveries.some(({ state }) => state === 'waiting')) return <State tone="warn">Waiting</State>;
  return <State tone="good">Sent</State>;
}

/** Sends a test alert to all webhooks. */
const TEST: Change = {
  label: 'Send a test',
  busy: 'Sending…',
  action: 'alerts.test',
  path: '/admin/alerts/test',
  body: {},
  done: '',
  onDone(answer: unknown) {
    // The response has the schema of the route.
    const { data } = answer as Static<typeof AlertTest>;
    const failed = data.filter(({ sent }) => !sent).map(({ webhook }) => webhook);
    toast(failed.length === 0 ? 'All webhooks accepted the test.' : `The test did not reach ${failed.join(', ')}.`);
    renewAll('/admin/alerts');
  },
};
