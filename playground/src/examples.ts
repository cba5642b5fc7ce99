// Made-up prompts to begin with.

export const examples: { title: string; text: string }[] = [
  {
    title: 'A doctor’s letter',
    text: 'My daughter Alice was diagnosed with asthma in London last Tuesday. She takes 15 mg of montelukast at 8:30 pm. Can you explain what we should watch for, and write a short note to her teacher, Mr Weber?',
  },
  {
    title: 'A complaint',
    text: 'Please write a polite complaint to the bank.\n\nOn 2026-03-14 they took $1,250 from my account DE89 3704 0044 0532 0130 00 twice. I called +44 20 7946 0018 and spoke to Priya Nair, who promised a refund within 5 days. My e-mail is jonas.keller@example.org.',
  },
  {
    title: 'A message to translate',
    text: 'Translate to French: “Dear Fatima, the hearing about our divorce was moved to Thursday. Bring the tax papers, and do not tell Oliver yet.”',
  },
  {
    title: 'A log line',
    text: 'Why does this fail?\n- host 10.4.17.22, user mkowalski, build 8841\n- error: cannot open https://intranet.acme-robotics.example/reports/q3?id=5521\n- it worked before 14:05 with Python and PostgreSQL',
  },
]
