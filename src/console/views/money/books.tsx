import { useState } from 'preact/hooks';
import { send } from '../../api/client.ts';
import type { ReadOf } from '../../api/reads.ts';
import { RENEWAL_MS, renewAll, useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Explained } from '../../design/explained.tsx';
import { figure, span } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { State } from '../../design/tag.tsx';
import { toast } from '../../design/toast.tsx';
import { creditsText, When } from '../../design/written.tsx';
import { reachOfViewer } from '../../shell/session.ts';

type AuditReport = ReadOf<'/admin/ledger/audit'>;

/** The result of the last audit of the books, and the button that runs one. */
export function Books() {
  const [isRunning, setRunning] = useState(false);
  const audit = useResource('/admin/ledger/audit', {}, { every: RENEWAL_MS });
  const start = async () => {
    setRunning(true);
    const result = await send<AuditReport>('POST', '/admin/ledger/audit', { body: {} });
    setRunning(false);
    if (!result.ok) return toast(result.failure.message);
    renewAll('/admin/ledger/audit');
  };
  return (
    <section class="card" aria-labelledby="books">
      <Loaded what="Audits" of={audit}>
        {(report) => (
          <>
            <div class="card-head">
              <h2 id="books">{sentenceOf(report)}</h2>
              {reachOfViewer('ledger.audit') !== null && (
                <Button disabled={isRunning || report.running_since !== null} onClick={() => void start()}>
                  {isRunning || report.running_since !== null ? 'Auditing…' : 'Audit the books'}
                </Button>
              )}
            </div>
            {report.result ? (
              <Result result={report.result} />
            ) : (
              <Empty title="This server has audited nothing yet">
                An audit computes every charge and every fund again from the journal, beside the running server.
              </Empty>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

function sentenceOf({ result }: AuditReport): string {
  if (!result) return 'The books';
  if (result.is_sound) return 'The books are sound.';
  return `The audit found ${figure(result.findings_count).short} ${result.findings_count === 1 ? 'fault' : 'faults'}.`;
}

function Result({ result }: { readonly result: NonNullable<AuditReport['result']> }) {
  const took = Date.parse(result.ended_at) - Date.parse(result.began_at);
  return (
    <div class="stack-tight">
      <dl class="facts">
        <dt>Result</dt>
        <dd>{result.is_sound ? <State tone="good">Sound</State> : <State tone="bad">Not sound</State>}</dd>
        <dt>Audited</dt>
        <dd>
          <When at={result.ended_at} />, in {took < 1_000 ? 'less than a second' : span(took)}
        </dd>
        <dt>Journal</dt>
        <dd>
          {figure(result.entries).short} entries, {figure(result.reservations).short} holds,{' '}
          {figure(result.funds).short} funds
        </dd>
        <dt>Charged</dt>
        <dd>{creditsText(result.charged_credits)}</dd>
        <dt>Refunded</dt>
        <dd>{creditsText(result.corrected_credits)}</dd>
        <dt>Beyond holds</dt>
        <dd>{creditsText(result.overrun_credits)}, charged to no key</dd>
        <dt>
          <Explained term="held" />
        </dt>
        <dd>
          {creditsText(result.held_credits)} by {figure(result.open).short} open holds
        </dd>
      </dl>
      {result.findings_count > 0 && (
        <p class="notice notice-bad">
          Read them with <code>signalbox ledger audit</code>, and do not change the database by hand.
        </p>
      )}
    </div>
  );
}
