import type { Resource } from '../../api/resource.ts';
import { Explained } from '../../design/explained.tsx';
import { duration, figure, percent, usd } from '../../design/format.ts';
import { Hero, Heroes } from '../../design/hero.tsx';
import { creditsText } from '../../design/written.tsx';
import { compared } from '../../shell/compared.ts';
import type { TrafficReport } from '../../shell/traffic.ts';
import { ratio } from './measures.ts';

/** Four figures, each beside the period of the same length before. */
export function OverviewFigures({
  traffic,
  before,
}: {
  readonly traffic: Resource<TrafficReport>;
  readonly before: Resource<TrafficReport>;
}) {
  const now = traffic.data?.total.whole ?? null;
  const then = before.data?.total.whole ?? null;
  const baseline = now === null ? 0 : now.credits + now.saved_credits;
  return (
    <Heroes>
      <Hero
        label="Spend"
        failure={traffic.failure}
        value={now && usd(now.usd)}
        notes={now && [creditsText(now.credits), compared(now.credits, then?.credits ?? null)]}
      />
      <Hero
        label="Saved"
        term="saved"
        failure={traffic.failure}
        value={now && usd(now.saved_usd)}
        notes={
          now &&
          (baseline > 0
            ? [
                <Explained key="part" term="baseline">
                  {percent(now.saved_credits / baseline).short} of the baseline
                </Explained>,
                `which is ${usd(Number(now.usd) + Number(now.saved_usd)).short}`,
              ]
            : ['no baseline yet'])
        }
      />
      <Hero
        label="Requests"
        failure={traffic.failure}
        value={now && figure(now.requests)}
        notes={now && [errorText(now.errors, now.requests), compared(now.requests, then?.requests ?? null)]}
      />
      <Hero
        label="Time to first token"
        failure={traffic.failure}
        value={now && duration(now.ttft_ms.p50)}
        notes={now && speedText(now.ttft_ms.p95, now.tokens_per_second)}
      />
    </Heroes>
  );
}

function errorText(errors: number, requests: number): string {
  if (errors === 0) return 'no errors';
  return `${percent(ratio(errors, requests)).short} errors`;
}

function speedText(p95: number | null, speed: number | null): readonly string[] {
  if (p95 === null && speed === null) return ['no streams yet'];
  return [`median; 95 % within ${duration(p95).short}`, speed === null ? '' : `${figure(speed).short} tokens a second`];
}
