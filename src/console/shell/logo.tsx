/** The mark of the product: a signal with one light on. */
export const Logo = () => (
  <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
    <rect width="16" height="16" rx="4" fill="var(--ink)" />
    <circle cx="8" cy="5" r="2.4" fill="var(--accent)" />
    <circle cx="8" cy="11" r="1.9" fill="none" stroke="var(--paper)" stroke-width="1.2" />
  </svg>
);
