import { BASE, queryText } from '../../api/base.ts';
import { ButtonLink } from '../../design/button.tsx';
import { isBooked, type SpendDimension, viewerZone } from './spend.ts';

interface ExportLinkProps {
  readonly by: SpendDimension;
  readonly period: { readonly from: string; readonly to: string };
  readonly step?: 'day' | 'month';
}

/** The charges of a period as a table for a spreadsheet, a line for each day or month: the API writes it. */
export const ExportLink = ({ by, period, step = 'day' }: ExportLinkProps) =>
  isBooked(by) ? (
    <ButtonLink
      download={`spend-by-${step}-and-${by.replace(/\W+/g, '-')}.csv`}
      href={`${BASE}/admin/usage${queryText({ by: `${step},${by}`, ...period, time_zone: step === 'month' ? 'UTC' : viewerZone(), format: 'csv' })}`}
    >
      Export CSV
    </ButtonLink>
  ) : null;
