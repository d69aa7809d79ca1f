"""What is kept between runs: journal, consumers, cleaned segments, quarantine, offsets."""
