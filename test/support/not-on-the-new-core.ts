// Test files that do not pass on the new core (core.ts) yet, each with the reason; `npm test` leaves them out of its run on that core.
// Named by hand they run there all the same. The list shrinks to nothing before the switch.
export const notOnTheNewCore: Readonly<Record<string, string>> = {
  'test/cabinet/views/applied-orphans.test.ts': 'not tried yet: its pages read what the old core writes',
  'test/cabinet/views/day-close.test.ts': 'not tried yet: its pages read what the old core writes',
  'test/cabinet/views/figures-of-money.test.ts': 'not tried yet: its pages read what the old core writes',
  'test/cabinet/views/lists.test.ts': 'not tried yet: its pages read what the old core writes',
  'test/cards/abort.test.ts': '7 tests: expectations of the old core, or tests of its parts, not looked at yet',
  'test/cards/answers.test.ts': '3 tests: expectations of the old core, or tests of its parts, not looked at yet',
  'test/cards/by-hand.test.ts': '2 tests: expectations of the old core, or tests of its parts, not looked at yet',
  'test/cards/cancel.test.ts': '3 tests: expectations of the old core, or tests of its parts, not looked at yet',
  'test/cards/disputed-together.test.ts': '6 tests: expectations of the old core, or tests of its parts, not looked at yet',
  'test/cards/document.test.ts': '3 tests: expectations of the old core, or tests of its parts, not looked at yet',
  'test/cards/meanwhile.test.ts': '17 tests: expectations of the old core, or tests of its parts, not looked at yet',
  'test/cards/one-answer.test.ts': '9 tests: expectations of the old core, or tests of its parts, not looked at yet',
  'test/cards/pay.test.ts': '1 test: expectations of the old core, or tests of its parts, not looked at yet',
  'test/cards/refund-sum.test.ts': '1 test: expectations of the old core, or tests of its parts, not looked at yet',
  'test/cards/what-goes-out.test.ts': '3 tests: expectations of the old core, or tests of its parts, not looked at yet',
  'test/invoices/card-payments.test.ts': '10 tests seed disputes as rows of the old core, or begin a payment by a step of its transaction',
  'test/invoices/paid-beside-card.test.ts': 'seeds card payments as rows of the old core',
  'test/invoices/payments-elsewhere.test.ts': '3 tests seed disputes and payments as rows of the old core',
  'test/invoices/payment-races.test.ts': 'races between a look and a lock; in the new core it is one event',
  'test/invoices/shared-commits.test.ts': 'the statements and batches of the old room',
};
