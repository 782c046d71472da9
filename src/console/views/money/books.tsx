import type { ReadOf } from '../../api/reads.ts';
import { RENEWAL_MS, useResource } from '../../api/resource.ts';
import { Explained } from '../../design/explained.tsx';
import { figure, span } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { State } from '../../design/tag.tsx';
import { creditsText, When } from '../../design/written.tsx';
import { Actions } from '../../kit/actions.tsx';
import { Facts } from '../../kit/show.tsx';

type AuditReport = ReadOf<'/admin/ledger/audit'>;

/** The result of the last audit, and the button that starts an audit. */
export function Books() {
  const audit = useResource('/admin/ledger/audit', {}, { every: RENEWAL_MS });
  return (
    <section class="card" aria-labelledby="books">
      <Loaded what="Audits" of={audit}>
        {(report) => (
          <>
            <div class="card-head">
              <h2 id="books">{sentenceOf(report)}</h2>
              <Actions
                of={[
                  {
                    label: 'Audit the ledger',
                    busy: 'Auditing…',
                    isBusy: report.running_since !== null,
                    action: 'ledger.audit',
                    path: '/admin/ledger/audit',
                    body: {},
                    done: '',
                  },
                ]}
              />
            </div>
            {report.result ? (
              <Result result={report.result} />
            ) : (
              <Empty title="No audit has run since this server started">
                An audit computes every charge and every fund again from the journal, and compares the results. The
                server keeps serving requests.
              </Empty>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

function sentenceOf({ result }: AuditReport): string {
  if (!result) return 'The ledger';
  if (result.is_sound) return 'The last audit found no error.';
  return `The last audit found ${figure(result.findings_count).short} ${result.findings_count === 1 ? 'error' : 'errors'}.`;
}

function Result({ result }: { readonly result: NonNullable<AuditReport['result']> }) {
  const took = Date.parse(result.ended_at) - Date.parse(result.began_at);
  const count = (value: number) => figure(value).short;
  return (
    <div class="stack-tight">
      <Facts
        of={result}
        facts={[
          [
            'Result',
            ({ is_sound }) =>
              is_sound ? <State tone="good">No errors</State> : <State tone="bad">Errors found</State>,
          ],
          [
            'Audited',
            ({ ended_at }) => (
              <>
                <When at={ended_at} />, in {took < 1_000 ? 'less than a second' : span(took)}
              </>
            ),
          ],
          [
            'Journal',
            ({ entries, reservations, funds }) =>
              `${count(entries)} entries, ${count(reservations)} holds, ${count(funds)} funds`,
          ],
          ['Charged', ({ charged_credits }) => creditsText(charged_credits)],
          ['Refunded', ({ corrected_credits }) => creditsText(corrected_credits)],
          ['Above holds', ({ overrun_credits }) => `${creditsText(overrun_credits)}, charged to no key`],
          [
            <Explained key="held" term="held" />,
            ({ held_credits, open }) => `${creditsText(held_credits)} in ${count(open)} open holds`,
          ],
        ]}
      />
      {result.findings_count > 0 && (
        <p class="notice notice-bad">
          List the errors with <code>signalbox ledger audit</code>, and do not change the database by hand.
        </p>
      )}
    </div>
  );
}
