-- runs under programs that know 2 migrations
-- A Receipt.Uid is one name in every letter case (D306). Until now it was stored as the ERP wrote it.
-- Claims in capitals stay beside the new ones, so that a gateway of the older version still finds them.

-- Two receipts under what is one name now: the older one has it, and a person looks at the other.
update commands set review_since = coalesce(settled_at, issued_at), reviewed_at = null,
  review_reason = 'This Receipt.Uid differs only in letter case from that of an earlier receipt, so the same receipt may be printed twice.'
where removed_at is null and review_since is null and id in (select named.command_id from (
    select c.merchant_id, lower(c.value) as name, c.command_id,
      first_value(c.command_id) over (partition by c.merchant_id, lower(c.value) order by k.issued_at, k.id) as first_id
    from claims c join commands k on k.id = c.command_id
    where c.kind = 'receipt' and exists (select 1 from claims x where x.kind = 'receipt' and x.value <> lower(x.value))
      and length(c.value) = 36 and c.value like '________-____-____-____-____________'
      and length(replace(c.value, '-', '')) = 32 and trim(lower(c.value), '0123456789abcdef-') = ''
  ) as named where named.command_id <> named.first_id);

update claims set command_id = named.first_id from (
    select c.merchant_id, lower(c.value) as name, c.command_id,
      first_value(c.command_id) over (partition by c.merchant_id, lower(c.value) order by k.issued_at, k.id) as first_id
    from claims c join commands k on k.id = c.command_id
    where c.kind = 'receipt' and exists (select 1 from claims x where x.kind = 'receipt' and x.value <> lower(x.value))
      and length(c.value) = 36 and c.value like '________-____-____-____-____________'
      and length(replace(c.value, '-', '')) = 32 and trim(lower(c.value), '0123456789abcdef-') = ''
  ) as named
where claims.merchant_id = named.merchant_id and claims.kind = 'receipt' and claims.value = named.name and claims.command_id <> named.first_id;

insert into claims (merchant_id, kind, value, command_id)
  select named.merchant_id, 'receipt', named.name, named.first_id from (
    select c.merchant_id, lower(c.value) as name, c.command_id,
      first_value(c.command_id) over (partition by c.merchant_id, lower(c.value) order by k.issued_at, k.id) as first_id
    from claims c join commands k on k.id = c.command_id
    where c.kind = 'receipt' and exists (select 1 from claims x where x.kind = 'receipt' and x.value <> lower(x.value))
      and length(c.value) = 36 and c.value like '________-____-____-____-____________'
      and length(replace(c.value, '-', '')) = 32 and trim(lower(c.value), '0123456789abcdef-') = ''
  ) as named
  where named.command_id = named.first_id
  on conflict do nothing;

update commands set receipt_uid = lower(receipt_uid)
where receipt_uid is not null and receipt_uid <> lower(receipt_uid) and length(receipt_uid) = 36 and receipt_uid like '________-____-____-____-____________'
      and length(replace(receipt_uid, '-', '')) = 32 and trim(lower(receipt_uid), '0123456789abcdef-') = '';
