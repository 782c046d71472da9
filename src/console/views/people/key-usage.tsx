import { useResource } from '../../api/resource.ts';
import { Sparkline } from '../../charts/sparkline.tsx';
import { DAY_MS, figure } from '../../design/format.ts';
import { Loaded } from '../../design/states.tsx';
import { creditsText, Money } from '../../design/written.tsx';
import { reachOfViewer } from '../../shell/session.ts';
import { dayZone } from '../../shell/traffic.ts';

const DAYS = 14;

/** The spend of a key in the last two weeks, by day. */
export function KeyUsage({ id }: { readonly id: string }) {
  const midnight = new Date();
  midnight.setHours(0, 0, 0, 0);
  const query = {
    key: id,
    step: 'day',
    from: new Date(midnight.getTime() - (DAYS - 1) * DAY_MS).toISOString(),
    time_zone: dayZone(),
  };
  const isWanted = reachOfViewer('traffic.read') !== null;
  const traffic = useResource('/admin/traffic', query, { isWanted });
  if (!isWanted) return null;
  return (
    <section class="stack-tight">
      <h3>Last {DAYS} days</h3>
      <Loaded what="Usage of this key" of={traffic}>
        {({ total: { whole, buckets } }) =>
          whole.requests === 0 ? (
            <p class="dim">No request yet.</p>
          ) : (
            <div class="row people-usage">
              <Sparkline values={buckets.credits} />
              <span>
                <strong>
                  <Money usd={whole.usd} credits={whole.credits} />
                </strong>{' '}
                <span class="dim">{creditsText(whole.credits)}</span>
              </span>
              <span class="dim">
                {figure(whole.requests).short} {whole.requests === 1 ? 'request' : 'requests'},{' '}
                {whole.errors === 0 ? 'no errors' : `${figure(whole.errors).short} failed`}
              </span>
            </div>
          )
        }
      </Loaded>
    </section>
  );
}
